"""`python -m emulator`: the server as a process of its own."""

import argparse
import asyncio
import contextlib
import gc
import signal
import sys
from pathlib import Path

import uvloop

from emulator.run import serve


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m emulator", description="A Kubernetes API server in memory.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one")
    parser.add_argument("--token", default="", help="bearer token that clients must show")
    parser.add_argument("--certificate", type=Path, help="PEM file with certificate and key; HTTPS with it")
    parser.add_argument("--certificate-authority", type=Path, help="PEM file for the kubeconfig")
    parser.add_argument("--kubeconfig", type=Path, help="file to write once the server answers")
    return parser.parse_args()


async def run(given: argparse.Namespace) -> None:
    """Serve until a signal comes."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(
        serve(
            port=given.port,
            host=given.host,
            token=given.token,
            certificate=given.certificate,
            certificate_authority=given.certificate_authority,
            kubeconfig=given.kubeconfig,
        )
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def main() -> int:
    """Start the server."""
    # The store keeps bytes, so there is little to walk; rarer collections keep the pauses away.
    gc.set_threshold(50_000, 20, 50)
    uvloop.run(run(arguments()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
