"""`pyroclast scheduler`: run the scheduler."""

from collections.abc import Sequence

from pyroclast.scheduler.cli.commands.processes import flag_lines, run_process, wrapped
from pyroclast.scheduler.cli.features import GATES
from pyroclast.scheduler.cli.flags import flags_of
from pyroclast.scheduler.cli.options import WITHOUT_EFFECT, Options, parse_options
from pyroclast.scheduler.daemon.serve import serve

__all__ = ["help_text", "main"]


def main(arguments: Sequence[str]) -> int:
    """Run the daemon until a signal ends it or its lease is lost.

    Raises:
        ConfigError: The command line has faults, or the daemon cannot start.
    """
    return run_process(arguments, parse=parse_options, serve=serve, help_text=help_text)


def help_text() -> str:
    """Return the text of `--help`: every flag with its default."""
    return "\n".join(
        [
            "Usage: pyroclast scheduler [FLAGS]",
            "",
            "Schedule the pods that name this scheduler. The flags are those of Volcano's scheduler, and some",
            "additional ones. They are written --flag=value or --flag value; durations are written 1s or 1m30s.",
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
