"""`pyroclast version`."""

from collections.abc import Sequence

from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.version import version_line

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Print the version."""
    if arguments:
        raise ConfigError(f"version: {arguments[0]!r}: no argument is expected")
    print(version_line())  # noqa: T201 - what the command is for
    return 0
