"""`python -m pyroclast.emulator`: the server as a process of its own, without custom resources and nodes."""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from pyroclast.emulator.command import (
    UnusableError,
    add_flags,
    emulator_of,
    listening,
    until_signal,
    write_kubeconfig_for,
)

__all__ = ["main"]

_UNUSABLE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal comes."""
    parser = argparse.ArgumentParser(
        prog="python -m pyroclast.emulator", description="A Kubernetes API server in memory."
    )
    add_flags(parser)
    given = parser.parse_args(arguments)

    async def serve() -> None:
        emulator = emulator_of(given)
        async with listening(emulator):
            write_kubeconfig_for(emulator, given.kubeconfig)
            await asyncio.Event().wait()

    try:
        until_signal(serve)
    except UnusableError as error:
        print(f"emulator: {error}", file=sys.stderr)  # noqa: T201 - what a command line is for
        return _UNUSABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
