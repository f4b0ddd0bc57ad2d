"""What commands that run for months have in common: how they start, and how `--help` writes their flags."""

import textwrap
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Final, Protocol, TypeVar

import uvloop

from pyroclast.scheduler.cli.flags import Flag, FlagKind
from pyroclast.scheduler.cli.process_options import DEBUG_VERBOSITY, ParsedOptions, ProcessOptions
from pyroclast.scheduler.cli.version import version_line
from pyroclast.scheduler.monitoring.logs import Level, start_logging

__all__ = ["flag_lines", "run_process", "shown_default", "wrapped"]

_WIDTH: Final = 110
_INDENT: Final = 6

T = TypeVar("T", bound=ProcessOptions)
T_contra = TypeVar("T_contra", bound=ProcessOptions, contravariant=True)


class Serve(Protocol[T_contra]):
    """Runs a process until it is told to end; returns its exit status."""

    def __call__(self, options: T_contra, level: Level, *, warnings: Sequence[str] = ()) -> Coroutine[Any, Any, int]:
        """Run it."""
        ...


def run_process(
    arguments: Sequence[str],
    *,
    parse: Callable[[Sequence[str]], ParsedOptions[T]],
    serve: Serve[T],
    help_text: Callable[[], str],
) -> int:
    """Read a command line and do what it asks for: print the help or the version, or run until told to end.

    Raises:
        ConfigError: With every fault of the command line, or what keeps the process from starting.
    """
    if {"-h", "--help"} & set(arguments):
        print(help_text())  # noqa: T201 - what was asked for
        return 0
    parsed = parse(arguments)
    options = parsed.options
    if options.version:
        print(version_line())  # noqa: T201 - as above
        return 0
    level = start_logging("json" if options.log_format == "json" else "console", debug=options.v >= DEBUG_VERBOSITY)
    return uvloop.run(serve(options, level, warnings=parsed.warnings))


def flag_lines(flag: Flag) -> Iterable[str]:
    """Return what `--help` says of a flag."""
    value = "" if flag.kind is FlagKind.BOOLEAN else f"={'|'.join(flag.choices) or flag.kind.value.split(',')[0]}"
    yield f"  --{flag.name}{value}"
    default = shown_default(flag.default, flag.kind)
    yield from wrapped(" " * _INDENT, f"{flag.help}{f' Default: {default}.' if default else ''}")


def shown_default(default: Any, kind: FlagKind) -> str:
    """Write a default as it would be given; empty where there is none."""
    if kind is FlagKind.BOOLEAN:
        return "true" if default else "false"
    if kind is FlagKind.DURATION:
        return f"{default:g}s"
    return ",".join(default) if isinstance(default, tuple) else str(default)


def wrapped(indent: str, text: str) -> list[str]:
    """Break a text into lines that fit a terminal."""
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
