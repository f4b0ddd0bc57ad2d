"""The command line: `pyroclast <command>`. Each command is imported when it is called for, so that all start fast."""

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
"""Exit status for a command line that cannot be read, as usual."""
INTERRUPTED: Final = 128 + signal.SIGINT
UNREAD: Final = 128 + signal.SIGPIPE
"""Exit status when nobody reads what is printed, as shells tell of the signal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand:
    """One command."""

    about: str
    module: str
    """Has `main(arguments) -> exit status`."""
    signals: tuple[signal.Signals, ...] = ()
    """What it serves once it runs; one that comes before does nothing, where it would end the process."""

    def run(self, arguments: Sequence[str]) -> int:
        """Import and run it."""
        for number in self.signals:
            signal.signal(number, signal.SIG_IGN)
        run: Callable[[Sequence[str]], int] = import_module(self.module).main
        return run(arguments)


COMMANDS: Final[Mapping[str, Subcommand]] = {
    "scheduler": Subcommand(
        about="schedule a cluster: the daemon",
        module="pyroclast.scheduler.cli.commands.scheduler",
        signals=(signal.SIGUSR1, signal.SIGUSR2),
    ),
    "controllers": Subcommand(
        about="serve pod groups, queues, Jobs and admission: the controllers",
        module="pyroclast.scheduler.cli.commands.controllers",
    ),
    "emulator": Subcommand(
        about="serve a Kubernetes API in memory, with hollow nodes", module="pyroclast.scheduler.cli.commands.emulator"
    ),
    "demo": Subcommand(
        about="watch gangs being placed on an emulated cluster", module="pyroclast.scheduler.cli.commands.demo"
    ),
    "simulate": Subcommand(
        about="decide for objects from files, without a cluster", module="pyroclast.scheduler.simulation.main"
    ),
    "replay": Subcommand(
        about="decide the cycles of a record again, and compare", module="pyroclast.scheduler.cli.commands.replay"
    ),
    "config": Subcommand(
        about="look a configuration file over: config check FILE", module="pyroclast.scheduler.cli.commands.config"
    ),
    "migrate": Subcommand(
        about="say what of a Volcano installation would behave differently: migrate check",
        module="pyroclast.scheduler.cli.commands.migrate",
    ),
    "queue": Subcommand(
        about="queues: list, get, create, open, close, delete", module="pyroclast.scheduler.cli.commands.vcctl.queues"
    ),
    "job": Subcommand(
        about="jobs: list, view, run, suspend, resume, delete", module="pyroclast.scheduler.cli.commands.vcctl.jobs"
    ),
    "quota": Subcommand(about="elastic quotas: list, get", module="pyroclast.scheduler.cli.commands.vcctl.quotas"),
    "completion": Subcommand(
        about="print a script for bash, zsh or fish that completes commands, flags and names",
        module="pyroclast.scheduler.cli.commands.vcctl.completion",
    ),
    "version": Subcommand(about="print the version", module="pyroclast.scheduler.cli.commands.version"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The command line after the program's name; that of the process where None.

    Returns:
        The exit status: 0 for success, 1 for a failure, 2 for a command line that cannot be read.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        # names from files and clusters may hold what the terminal's encoding, or any encoding, has no bytes for
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
        # `| head` has read enough. What is left to be written goes nowhere, or Python complains when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    return status


def complain(*faults: str) -> int:
    """Print faults on standard error and return the exit status for them."""
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
            "pyroclast COMMAND --help tells more.",
        ]
    )
