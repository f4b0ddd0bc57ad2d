"""A gate between a daemon and an API server, which kills the daemon at a chosen write.

Requests pass unchanged, watches included. The chosen write is carried out or not, and its answer never arrives.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
import yaml
from aiohttp import web

from tests.e2e.cluster import Cluster
from tests.e2e.rawhttp import tls_of

__all__ = ["Gate", "gate_to"]

_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_OF_CONNECTION = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host"})
"""Headers that are not passed on, lower case."""


class Gate:
    """Counts the writes to some paths, and kills a process at one of them."""

    def __init__(self, cluster: Cluster, counts: Callable[[str], bool]) -> None:
        """Let all requests pass.

        Args:
            cluster: Where they go.
            counts: Returns whether the writes to a path are counted.
        """
        self._cluster, self._counts = cluster, counts
        self._left, self._is_carried_out = -1, False
        self._kill: Callable[[], None] = lambda: None
        self.has_killed = threading.Event()
        """Set when the process is dead."""
        self.port = 0

    def kill_at(self, number: int, kill: Callable[[], None], *, is_carried_out: bool) -> None:
        """Kill a process at one of the next writes.

        Args:
            number: Number of the write, from 0.
            kill: Kills the process at once.
            is_carried_out: Whether the server carries out the write before.
        """
        self._left, self._kill, self._is_carried_out = number, kill, is_carried_out
        self.has_killed.clear()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Listen, in a thread, for the length of a block."""
        listening = threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(self._serve(listening)), daemon=True)
        thread.start()
        listening.wait()
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._over.set)
            thread.join()

    async def _serve(self, listening: threading.Event) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        application = web.Application(client_max_size=1 << 24)
        application.router.add_route("*", "/{path:.*}", self._pass_on)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        connector = aiohttp.TCPConnector(ssl=tls_of(self._cluster) or True, limit=0)
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as self._session:
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.port = runner.addresses[0][1]
            listening.set()
            await self._over.wait()
            await runner.cleanup()

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        if request.method in _WRITES and self._counts(request.path):
            self._left -= 1
            if self._left == -1:
                if self._is_carried_out:
                    async with self._forwarded(request, await request.read()) as answer:
                        await answer.read()
                self._kill()
                self.has_killed.set()
                raise web.HTTPServiceUnavailable
        async with self._forwarded(request, await request.read()) as answer:
            headers = {key: text for key, text in answer.headers.items() if key.lower() not in _OF_CONNECTION}
            passed = web.StreamResponse(status=answer.status, headers=headers)
            await passed.prepare(request)
            async for piece in answer.content.iter_any():
                await passed.write(piece)
            await passed.write_eof()
            return passed

    def _forwarded(self, request: web.Request, body: bytes) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        headers = {key: text for key, text in request.headers.items() if key.lower() not in _OF_CONNECTION}
        url = self._cluster.url + request.raw_path
        timeout = aiohttp.ClientTimeout(total=None)
        return self._session.request(request.method, url, data=body or None, headers=headers, timeout=timeout)


@contextmanager
def gate_to(cluster: Cluster, folder: Path, counts: Callable[[str], bool]) -> Iterator[tuple[Gate, Cluster]]:
    """Return a gate to a cluster, and the cluster as it is seen through it."""
    gate = Gate(cluster, counts)
    with gate.open():
        config = yaml.safe_load(cluster.kubeconfig.read_text())
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{gate.port}"}
        config["users"][0]["user"] = {}
        kubeconfig = folder / "through-the-gate"
        kubeconfig.write_text(yaml.safe_dump(config))
        yield gate, replace(cluster, kubeconfig=kubeconfig)
