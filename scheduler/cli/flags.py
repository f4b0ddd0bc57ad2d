"""Flags in the syntax of Go programs, parsed into a dataclass whose fields describe them.

Accepted forms: `--flag=value`, `--flag value`, bare booleans, one dash or two, `_` for `-`. A list flag is repeated;
some lists also accept commas. All faults of a command line are reported together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Final, TypeVar

from pyroclast.framework.configuration.suggest import did_you_mean
from pyroclast.model.booleans import GO_BOOLEANS
from pyroclast.model.durations import parse_duration

__all__ = ["Flag", "FlagKind", "Reading", "flag", "flags_of", "parse_boolean", "read"]

Default = TypeVar("Default")


class FlagKind(Enum):
    """Type of a flag's value, and the effect of repeating the flag."""

    TEXT = "text"
    BOOLEAN = "boolean"
    WHOLE = "whole number"
    DURATION = "duration"
    REPEAT = "text, may be repeated"
    LIST = "text, may be repeated or separated by commas"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag of the command line."""

    name: str
    kind: FlagKind
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    """Permitted values of a text; any value if empty."""


@dataclass(slots=True, kw_only=True)
class Reading:
    """The parsed command line: values by field name, and all faults."""

    values: dict[str, Any] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    """Given flags that are accepted without effect."""
    faults: list[str] = field(default_factory=list)


def flag(kind: FlagKind, default: Default, help: str, *, choices: tuple[str, ...] = ()) -> Default:  # noqa: A002 - as argparse calls it
    """Declare a dataclass field as a flag. The flag's name is the field's name with dashes."""
    declared: Default = field(default=default, metadata={"kind": kind, "help": help, "choices": choices})
    return declared


def flags_of(options: type) -> dict[str, Flag]:
    """Return the flags that a dataclass declares, by name, in order."""
    found = {}
    for one in fields(options):
        if "kind" in one.metadata:
            name = one.name.replace("_", "-")
            found[name] = Flag(name=name, default=one.default, **one.metadata)
    return found


def read(arguments: Sequence[str], flags: Mapping[str, Flag], ignored: Mapping[str, FlagKind]) -> Reading:
    """Parse a command line.

    Args:
        arguments: The arguments after the program's name.
        flags: Flags that have an effect, by name.
        ignored: Flags that are accepted without effect, by name.

    Returns:
        The values and the faults. A faulty value is left out.
    """
    reading = Reading()
    remaining = iter(arguments)
    for argument in remaining:
        if not argument.startswith("-") or argument == "-":
            reading.faults.append(f"{argument}: not a flag, and no other argument is expected")
            continue
        if argument == "--":
            reading.faults.extend(f"{each}: no argument is expected" for each in remaining)
            continue
        _read_one(argument, remaining, flags, ignored, reading)
    return reading


def _read_one(
    argument: str,
    remaining: Iterable[str],
    flags: Mapping[str, Flag],
    ignored: Mapping[str, FlagKind],
    reading: Reading,
) -> None:
    """Parse one flag, and take its value from the next argument if it is not attached."""
    spelled, attached, text = argument.lstrip("-").partition("=")
    name = spelled.replace("_", "-")
    known = flags.get(name)
    kind = known.kind if known else ignored.get(name)
    if kind is None:
        reading.faults.append(f"--{spelled}: unknown flag{did_you_mean(name, [*flags, *ignored])}")
        return
    if not attached:
        following = "true" if kind is FlagKind.BOOLEAN else next(iter(remaining), None)
        if following is None:
            reading.faults.append(f"--{name}: needs a value")
            return
        text = following
    if known is None:
        reading.ignored.append(name)
        return
    try:
        _keep(known, text, reading.values)
    except ValueError as fault:
        reading.faults.append(f"--{name}: got {text!r}, expected {fault}")


def _keep(known: Flag, text: str, values: dict[str, Any]) -> None:
    """Add one value. The first value of a list replaces the default."""
    field_name = known.name.replace("-", "_")
    value = _CONVERSIONS[known.kind](text)
    if known.choices and value not in known.choices:
        raise ValueError(f"one of {', '.join(known.choices)}{did_you_mean(text, known.choices)}")
    if known.kind in {FlagKind.REPEAT, FlagKind.LIST}:
        value = (*values.get(field_name, ()), *value)
    values[field_name] = value


def parse_boolean(text: str) -> bool:
    """Parse a boolean as Go's `strconv.ParseBool` does."""
    if text not in GO_BOOLEANS:
        raise ValueError("true or false")
    return GO_BOOLEANS[text]


def _parse_whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("a whole number") from None


def _parse_seconds(text: str) -> float:
    try:
        return float(parse_duration(text))
    except ValueError:
        raise ValueError("a duration such as 1s or 1m30s") from None


_CONVERSIONS: Final[Mapping[FlagKind, Callable[[str], Any]]] = {
    FlagKind.TEXT: str,
    FlagKind.BOOLEAN: parse_boolean,
    FlagKind.WHOLE: _parse_whole,
    FlagKind.DURATION: _parse_seconds,
    FlagKind.REPEAT: lambda text: (text,),
    FlagKind.LIST: lambda text: tuple(piece for piece in text.split(",") if piece),
}
