"""Arguments of Job plugins: command-line flags (`--name=value`), read into a frozen dataclass.

The rules are those of Go's flag package, which Volcano's plugins use: one dash or two, the value after `=` or as the
next argument, a bool alone means true, integers in any base. Parsing ends at the first invalid argument. Earlier
arguments have effect, and the other flags keep their defaults.
"""

import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from pyroclast.controllers.jobs.plugins.plugin import PluginFault
from pyroclast.model.booleans import GO_BOOLEANS

__all__ = ["flag", "parse"]

T = TypeVar("T")


def flag(name: str, default: str | bool | int) -> Any:
    """Declare a flag as a field of a dataclass. The default determines its type."""
    return dataclasses.field(default=default, metadata={"flag": name})


def parse(kind: type[T], plugin: str, arguments: Sequence[str]) -> tuple[T, tuple[PluginFault, ...]]:
    """Parse arguments.

    Args:
        kind: Dataclass whose fields were declared by `flag`.
        plugin: Name of the plugin, for the fault.
        arguments: Arguments from the Job.

    Returns:
        The parsed flags, and the fault that stopped parsing, if any.
    """
    fields = {field.metadata["flag"]: (field.name, field.default) for field in dataclasses.fields(kind)}  # type: ignore[arg-type]  # by `flag`
    values: dict[str, Any] = {}
    rest = deque(arguments)
    while rest and rest[0] != "--":
        position, argument = len(arguments) - len(rest), rest.popleft()
        spelling, equals, text = _undashed(argument).partition("=")
        try:
            name, default = _known(fields, spelling)
            values[name] = _value(default, text if equals else None, rest)
        except ValueError as error:
            return kind(**values), (_fault(plugin, position, argument, str(error)),)
    return kind(**values), ()


def _undashed(argument: str) -> str:
    """Return the text after the dashes. Empty if there are no dashes."""
    return argument[1:].removeprefix("-") if argument.startswith("-") else ""


def _known(fields: dict[str, tuple[str, Any]], spelling: str) -> tuple[str, Any]:
    """Return the name and the default of a flag's field.

    Raises:
        ValueError: The flag is unknown.
    """
    if spelling not in fields:
        raise ValueError(f"a flag of: {', '.join(f'--{each}' for each in sorted(fields))}")
    return fields[spelling]


def _value(default: str | bool | int, text: str | None, rest: deque[str]) -> str | bool | int:
    """Return the value of a flag. Without `=`, it is the next argument.

    Raises:
        ValueError: The message contains the expected value.
    """
    if text is None and isinstance(default, bool):
        return True
    if text is None and not rest:
        raise ValueError("a flag with a value")
    read, expected = _READERS[type(default)]
    try:
        return read(rest.popleft() if text is None else text)
    except (KeyError, ValueError):
        raise ValueError(expected) from None


def _int(text: str) -> int:
    return int(text, 0)


_READERS: Final[dict[type, tuple[Callable[[str], str | bool | int], str]]] = {
    str: (str, "a flag with text"),
    bool: (GO_BOOLEANS.__getitem__, "a flag that is true or false"),
    int: (_int, "a flag with a whole number"),
}


def _fault(plugin: str, position: int, value: str, expected: str) -> PluginFault:
    return PluginFault(
        plugin=plugin,
        path=f"spec.plugins[{plugin}][{position}]",
        value=value,
        expected=expected,
        message=f"argument {value!r} of job plugin {plugin} is not {expected}; it and what follows it is ignored",
    )
