"""`pyroclast scheduler`: the daemon."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, Final

import uvloop

from scheduler.features import GATES
from scheduler.flags import Flag, FlagKind, flags_of
from scheduler.logs import start_logging
from scheduler.options import DEBUG_VERBOSITY, WITHOUT_EFFECT, Options, parse_options
from scheduler.serve import serve
from scheduler.version import version_line

__all__ = ["flag_lines", "help_text", "main", "shown_default", "wrapped"]

_WIDTH: Final = 110
_INDENT: Final = 6


def main(arguments: Sequence[str]) -> int:
    """Run the daemon until a signal ends it or its lease is lost.

    Raises:
        ConfigError: With every fault of the command line, or what keeps the daemon from starting.
    """
    if {"-h", "--help"} & set(arguments):
        print(help_text())  # noqa: T201 - what was asked for
        return 0
    parsed = parse_options(arguments)
    options = parsed.options
    if options.version:
        print(version_line())  # noqa: T201 - as above
        return 0
    level = start_logging("json" if options.log_format == "json" else "console", debug=options.v >= DEBUG_VERBOSITY)
    return uvloop.run(serve(options, level, warnings=parsed.warnings))


def help_text() -> str:
    """Return the text of `--help`: every flag with its default."""
    return "\n".join(
        [
            "Usage: pyroclast scheduler [FLAGS]",
            "",
            "Schedule the pods that name this scheduler. Flags are those of Volcano's scheduler, and a few of our own;",
            "they are written --flag=value or --flag value, durations as 1s or 1m30s.",
            "",
            "Flags:",
            *(line for flag in flags_of(Options).values() for line in flag_lines(flag)),
            "",
            "Feature gates, for --feature-gates:",
            *(
                f"  {name} ({gate.stage}, {'on' if gate.default else 'off'}): {gate.about}"
                for name, gate in GATES.items()
            ),
            "",
            "Accepted without effect:",
            *wrapped("  ", ", ".join(f"--{name}" for name in WITHOUT_EFFECT)),
        ]
    )


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
