"""A wire between a client and servers that a test can cut: what a partition is to a process, a Service to pods."""

import asyncio
import threading
import urllib.parse
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import yaml

from tests.e2e.cluster import Cluster

__all__ = ["Wire", "wire_to"]

CHUNK = 1 << 16


class Wire:
    """Passes bytes on, until it is cut: then what was sent is swallowed, and connections stand as if nothing was.

    Each connection goes to the next of its targets in turn.
    """

    def __init__(self, *targets: tuple[str, int]) -> None:
        """Aim at servers, by host and port."""
        self.targets = deque(targets)
        """Those that take new connections; a test may take one out or put one in."""
        self._whole = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    @contextmanager
    def open(self) -> Iterator["Wire"]:
        """Listen, in a thread, for the length of a block."""
        listening = threading.Event()
        thread = threading.Thread(target=self._run, args=(listening,), daemon=True)
        thread.start()
        listening.wait()
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Pass nothing on, either way, for the length of a block."""
        self._loop.call_soon_threadsafe(self._whole.clear)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._whole.set)

    def _run(self, listening: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._whole.set()
        server = self._loop.run_until_complete(asyncio.start_server(self._meet, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        listening.set()
        self._loop.run_forever()
        server.close()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._loop.close()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.targets.rotate(-1)
        try:
            there_reader, there_writer = await asyncio.open_connection(*self.targets[-1])
        except OSError:
            writer.close()
            return
        for source, target in ((reader, there_writer), (there_reader, writer)):
            task = self._loop.create_task(self._pass_on(source, target))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await source.read(CHUNK):
                await self._whole.wait()
                target.write(piece)
                await target.drain()
        target.close()


@contextmanager
def wire_to(cluster: Cluster, folder: Path) -> Iterator[tuple[Wire, Cluster]]:
    """Return a wire to a cluster, and the cluster as it is seen through it."""
    address = urllib.parse.urlsplit(cluster.url)
    with Wire((address.hostname or "127.0.0.1", address.port or 443)).open() as wire:
        config = yaml.safe_load(cluster.kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = f"{address.scheme}://127.0.0.1:{wire.port}"
        kubeconfig = folder / "through-the-wire"
        kubeconfig.write_text(yaml.safe_dump(config))
        yield wire, replace(cluster, kubeconfig=kubeconfig)
