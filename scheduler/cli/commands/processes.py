"""Start of long-running commands, and the format of their flags in `--help`."""

import sys
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
_SWITCH_SECONDS: Final = 0.001
"""Time that the loop's thread waits for the thread of a cycle; Python's 5 ms delay each step of a bind as much."""

T = TypeVar("T", bound=ProcessOptions)
T_contra = TypeVar("T_contra", bound=ProcessOptions, contravariant=True)


class Serve(Protocol[T_contra]):
    """Runs a process until it is stopped, and returns its exit status."""

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
    """Parse a command line, then print the help, print the version, or run the process.

    Raises:
        ConfigError: The command line has faults, or the process cannot start.
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
    sys.setswitchinterval(_SWITCH_SECONDS)
    return uvloop.run(serve(options, level, warnings=parsed.warnings))


def flag_lines(flag: Flag) -> Iterable[str]:
    """Return the lines of `--help` about a flag."""
    value = "" if flag.kind is FlagKind.BOOLEAN else f"={'|'.join(flag.choices) or flag.kind.value.split(',')[0]}"
    yield f"  --{flag.name}{value}"
    default = shown_default(flag.default, flag.kind)
    yield from wrapped(" " * _INDENT, f"{flag.help}{f' Default: {default}.' if default else ''}")


def shown_default(default: Any, kind: FlagKind) -> str:
    """Format a default as it would be given; empty if there is none."""
    if kind is FlagKind.BOOLEAN:
        return "true" if default else "false"
    if kind is FlagKind.DURATION:
        return f"{default:g}s"
    return ",".join(default) if isinstance(default, tuple) else str(default)


def wrapped(indent: str, text: str) -> list[str]:
    """Break a text into lines that fit a terminal."""
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
