"""Flags spelled as Go programs spell them, read into a dataclass whose fields describe them.

`--flag=value`, `--flag value`, bare booleans, one dash or two, `_` for `-`. Lists come by repeating a flag, some also
by commas. Every fault of a command line is found in one reading.
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
    """What a flag takes, and what repeating it does."""

    TEXT = "text"
    BOOLEAN = "boolean"
    WHOLE = "whole number"
    DURATION = "duration"
    REPEAT = "text, may be repeated"
    LIST = "text, may be repeated or separated by commas"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag, as the command line shows it."""

    name: str
    kind: FlagKind
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    """What a text may be; anything where empty."""


@dataclass(slots=True, kw_only=True)
class Reading:
    """What a command line said: values by field name, and everything wrong with it."""

    values: dict[str, Any] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    """Flags given that are accepted without effect."""
    faults: list[str] = field(default_factory=list)


def flag(kind: FlagKind, default: Default, help: str, *, choices: tuple[str, ...] = ()) -> Default:  # noqa: A002 - as argparse calls it
    """Declare a dataclass field that is a flag; its name is the field's, with dashes."""
    declared: Default = field(default=default, metadata={"kind": kind, "help": help, "choices": choices})
    return declared


def flags_of(options: type) -> dict[str, Flag]:
    """Return the flags a dataclass declares, by name, in their order."""
    found = {}
    for one in fields(options):
        if "kind" in one.metadata:
            name = one.name.replace("_", "-")
            found[name] = Flag(name=name, default=one.default, **one.metadata)
    return found


def read(arguments: Sequence[str], flags: Mapping[str, Flag], ignored: Mapping[str, FlagKind]) -> Reading:
    """Read a command line.

    Args:
        arguments: What follows the program's name.
        flags: Flags that have an effect, by name.
        ignored: Flags that are accepted without effect, by name.

    Returns:
        The values given and the faults found; a value at fault is left out.
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
    """Take one flag, and its value from what follows when it is not attached."""
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
    """Add one value to those read; the first value of a list replaces the default."""
    field_name = known.name.replace("-", "_")
    value = _CONVERSIONS[known.kind](text)
    if known.choices and value not in known.choices:
        raise ValueError(f"one of {', '.join(known.choices)}{did_you_mean(text, known.choices)}")
    if known.kind in {FlagKind.REPEAT, FlagKind.LIST}:
        value = (*values.get(field_name, ()), *value)
    values[field_name] = value


def parse_boolean(text: str) -> bool:
    """Read a boolean as Go's `strconv.ParseBool` does."""
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
