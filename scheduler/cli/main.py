"""The command line: `pyroclast <command>`. Each command is imported only when it runs, so that all start fast."""

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import TextIOWrapper
from typing import Final

from pyroclast.framework.configuration.suggest import did_you_mean
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.version import version_line

__all__ = ["COMMANDS", "main"]

USAGE_FAULT: Final = 2
"""Exit status for a command line that cannot be parsed."""
INTERRUPTED: Final = 128 + signal.SIGINT
UNREAD: Final = 128 + signal.SIGPIPE
"""Exit status after a broken pipe, as shells report the signal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand:
    """One command."""

    about: str
    module: str
    """A module with `main(arguments) -> exit status`."""
    signals: tuple[signal.Signals, ...] = ()
    """Signals that the command handles once it runs. Until then they are ignored: they would end the process."""

    def run(self, arguments: Sequence[str]) -> int:
        """Import the module and run it."""
        for number in self.signals:
            signal.signal(number, signal.SIG_IGN)
        run: Callable[[Sequence[str]], int] = import_module(self.module).main
        return run(arguments)


COMMANDS: Final[Mapping[str, Subcommand]] = {
    "scheduler": Subcommand(
        about="run the scheduler",
        module="pyroclast.scheduler.cli.commands.scheduler",
        signals=(signal.SIGUSR1, signal.SIGUSR2),
    ),
    "controllers": Subcommand(
        about="run the controllers and the admission webhooks",
        module="pyroclast.scheduler.cli.commands.controllers",
    ),
    "emulator": Subcommand(
        about="serve a Kubernetes API in memory, with hollow nodes", module="pyroclast.scheduler.cli.commands.emulator"
    ),
    "demo": Subcommand(
        about="watch gangs being placed on an emulated cluster", module="pyroclast.scheduler.cli.commands.demo"
    ),
    "simulate": Subcommand(
        about="schedule objects from files, without a cluster", module="pyroclast.scheduler.simulation.main"
    ),
    "replay": Subcommand(
        about="decide the cycles of a record again, and compare", module="pyroclast.scheduler.cli.commands.replay"
    ),
    "explain": Subcommand(
        about="explain why a pod is on its node, or on none: scores by plugin, refusals by rule",
        module="pyroclast.scheduler.cli.commands.explain",
    ),
    "config": Subcommand(
        about="check a configuration file: config check FILE", module="pyroclast.scheduler.cli.commands.config"
    ),
    "migrate": Subcommand(
        about="report what would behave differently after a migration from Volcano: migrate check",
        module="pyroclast.scheduler.cli.commands.migrate",
    ),
    "queue": Subcommand(
        about="queues: list, get, create, open, close, delete", module="pyroclast.scheduler.cli.commands.vcctl.queues"
    ),
    "job": Subcommand(
        about="jobs: list, view, run, suspend, resume, delete", module="pyroclast.scheduler.cli.commands.vcctl.jobs"
    ),
    "quota": Subcommand(about="elastic quotas: list, get", module="pyroclast.scheduler.cli.commands.vcctl.quotas"),
    "reservation": Subcommand(
        about="reservations: list, get", module="pyroclast.scheduler.cli.commands.vcctl.reservations"
    ),
    "completion": Subcommand(
        about="print a script for bash, zsh or fish that completes commands, flags and names",
        module="pyroclast.scheduler.cli.commands.vcctl.completion",
    ),
    "version": Subcommand(about="print the version", module="pyroclast.scheduler.cli.commands.version"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The command line after the program's name; None takes the arguments of the process.

    Returns:
        The exit status: 0 for success, 1 for a failure, 2 for a command line that cannot be parsed.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        # Names from files and clusters may contain characters that the terminal's encoding cannot represent.
        sys.stdout.reconfigure(errors="backslashreplace")
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in {"-h", "--help", "help"}:
        print(usage())  # noqa: T201 - what a command line is for
        return 0 if given else USAGE_FAULT
    if given[0] == "--version":
        print(version_line())  # noqa: T201 - as above
        return 0
    command = COMMANDS.get(given[0])
    if command is None:
        return complain(f"unknown command {given[0]!r}{did_you_mean(given[0], COMMANDS)}", "see pyroclast --help")
    try:
        status = command.run(given[1:])
        sys.stdout.flush()
    except ConfigError as error:
        return complain(*error.faults)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, closed the pipe. Redirect the rest, or Python reports an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    return status


def complain(*faults: str) -> int:
    """Print faults on standard error, and return the exit status for them."""
    for fault in faults:
        print(f"pyroclast: {fault}", file=sys.stderr)  # noqa: T201 - as above
    return USAGE_FAULT


def usage() -> str:
    """Return the text of `--help`."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}} {command.about}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "Usage: pyroclast COMMAND [ARGUMENTS]",
            "",
            "A batch scheduler for Kubernetes: gangs, queues and fair shares, decided fast and explained exactly.",
            "",
            "Commands:",
            *lines,
            "",
            "Use `pyroclast COMMAND --help` for more information about a command.",
        ]
    )
