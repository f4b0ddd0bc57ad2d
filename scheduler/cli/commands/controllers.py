"""`pyroclast controllers`: run the controllers and the admission webhooks."""

from collections.abc import Sequence

from pyroclast.scheduler.cli.commands.processes import flag_lines, run_process, wrapped
from pyroclast.scheduler.cli.flags import flags_of
from pyroclast.scheduler.controllers.options import WITHOUT_EFFECT, Options, parse_options
from pyroclast.scheduler.controllers.serve import serve
from pyroclast.scheduler.controllers.table import CONTROLLERS

__all__ = ["help_text", "main"]


def main(arguments: Sequence[str]) -> int:
    """Run the controllers until a signal ends them or their lease is lost.

    Raises:
        ConfigError: The command line has faults, or the controllers cannot start.
    """
    return run_process(arguments, parse=parse_options, serve=serve, help_text=help_text)


def help_text() -> str:
    """Return the text of `--help`: every flag with its default."""
    return "\n".join(
        [
            "Usage: pyroclast controllers [FLAGS]",
            "",
            "Create pod groups, manage queues, run Jobs, and answer admission requests. The flags are those of",
            "Volcano's controller manager and webhook manager, and some additional ones. Durations are written",
            "1s or 1m30s.",
            "",
            "Flags:",
            *(line for flag in flags_of(Options).values() for line in flag_lines(flag)),
            "",
            "Controllers, for --controllers:",
            *wrapped("  ", ", ".join(CONTROLLERS)),
            "",
            "Accepted without effect:",
            *wrapped("  ", ", ".join(f"--{name}" for name in WITHOUT_EFFECT)),
        ]
    )
