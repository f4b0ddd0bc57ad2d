"""Running the server: inside a test, or as a process of its own."""

import asyncio
import json
import ssl
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from pyroclast.emulator.api.fast_path import FastServer
from pyroclast.emulator.api.server import LARGEST_BODY_BYTES, ApiServer
from pyroclast.emulator.clock import Clock
from pyroclast.emulator.faults import Faults
from pyroclast.emulator.kinds.budgets import BudgetStrategy
from pyroclast.emulator.kinds.defaults import JobStrategy, SecretStrategy, ServiceStrategy, VolumeStrategy
from pyroclast.emulator.kinds.disruption import Budgets
from pyroclast.emulator.kinds.leases import LeaseStrategy
from pyroclast.emulator.kinds.namespaces import FIRST_NAMESPACES, NamespaceStrategy, Terminator, first_namespace
from pyroclast.emulator.kinds.podgroups import PodGroupStrategy, WorkloadStrategy, native_kinds
from pyroclast.emulator.kinds.pods import PodStrategy
from pyroclast.emulator.kinds.priorities import PriorityClassStrategy
from pyroclast.emulator.operations.cluster import Cluster
from pyroclast.emulator.operations.collector import Collector
from pyroclast.emulator.operations.customresources import Definitions, DefinitionStrategy
from pyroclast.emulator.storage.store import HISTORY, Store
from pyroclast.emulator.storage.watches import BOOKMARK_SECONDS

__all__ = ["Emulator", "write_kubeconfig"]

BACKLOG = 1024


def make_request(message: Any, payload: Any, protocol: Any, writer: Any, task: asyncio.Task[None]) -> web.BaseRequest:
    """Make a request whose body may be as large as the real server allows."""
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=LARGEST_BODY_BYTES)


@dataclass(kw_only=True)
class Emulator:
    """An API server on loopback. States: made, running (inside `async with`), stopped."""

    port: int = 0
    """0 takes a free one."""
    host: str = "127.0.0.1"
    token: str = ""
    """Bearer token that clients must show; none when empty."""
    certificate: Path | None = None
    """PEM file with certificate and key; plain HTTP without one."""
    certificate_authority: Path | None = None
    """PEM file with the certificate authority for clients."""
    history: int = HISTORY
    bookmark_seconds: float = BOOKMARK_SECONDS
    seed: int = 0
    """For the chances of faults."""
    native_groups: str = ""
    """Version of PodGroups and Workloads of `scheduling.k8s.io`; without these kinds when empty."""
    clock: Clock = field(default_factory=Clock)
    cluster: Cluster = field(init=False)
    _site: asyncio.Server | None = field(default=None, init=False)
    _server: FastServer | None = field(default=None, init=False)
    _api: ApiServer = field(init=False)
    _budgets: Budgets = field(init=False)

    def __post_init__(self) -> None:
        """Make the cluster, with its first namespaces."""
        self.cluster = new_cluster(Faults(self.seed), self.clock, self.history, self.native_groups)
        self._budgets = Budgets(self.cluster)
        self.cluster.store.listeners.append(self._budgets.on_change)
        self._api = ApiServer(self.cluster, token=self.token, bookmark_seconds=self.bookmark_seconds)

    @property
    def faults(self) -> Faults:
        """Faults that are injected."""
        return self.cluster.faults

    @property
    def store(self) -> Store:
        """The store of the objects."""
        return self.cluster.store

    @property
    def url(self) -> str:
        """Address of the server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"

    def kubeconfig(self, path: Path | str) -> Path:
        """Write a kubeconfig for this server."""
        return write_kubeconfig(path, url=self.url, token=self.token, certificate_authority=self.certificate_authority)

    async def __aenter__(self) -> Self:
        """Start to listen."""
        self._server = FastServer(
            self._api.handle,
            quick=self._api.answer_now,
            request_factory=make_request,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=3600,
        )
        context = None
        if self.certificate is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(self.certificate)
        loop = asyncio.get_running_loop()
        self._site = await loop.create_server(self._server, self.host, self.port, ssl=context, backlog=BACKLOG)
        self.port = self._site.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_exception: object) -> None:
        """Stop: watches end, connections close."""
        self._budgets.stop()
        self._api.end_watches()
        if self._site is not None:
            self._site.close()
        if self._server is not None:
            await self._server.shutdown(1.0)


def new_cluster(faults: Faults, clock: Clock, history: int, native_groups: str = "") -> Cluster:
    """An empty cluster with its rules, listeners and first namespaces."""
    cluster = Cluster(store=Store(history=history), faults=faults, clock=clock)
    for resource in native_kinds(native_groups):
        cluster.registry.add(resource)
    cluster.strategies["", "pods"] = PodStrategy()
    cluster.strategies["", "namespaces"] = NamespaceStrategy()
    cluster.strategies["", "secrets"] = SecretStrategy()
    cluster.strategies["", "services"] = ServiceStrategy()
    cluster.strategies["", "persistentvolumeclaims"] = VolumeStrategy()
    cluster.strategies["", "persistentvolumes"] = VolumeStrategy(persistentVolumeReclaimPolicy="Retain")
    cluster.strategies["batch", "jobs"] = JobStrategy()
    cluster.strategies["policy", "poddisruptionbudgets"] = BudgetStrategy()
    cluster.strategies["coordination.k8s.io", "leases"] = LeaseStrategy()
    cluster.strategies["scheduling.k8s.io", "priorityclasses"] = PriorityClassStrategy()
    cluster.strategies["scheduling.k8s.io", "podgroups"] = PodGroupStrategy()
    cluster.strategies["scheduling.k8s.io", "workloads"] = WorkloadStrategy()
    cluster.strategies["apiextensions.k8s.io", "customresourcedefinitions"] = DefinitionStrategy()
    cluster.store.listeners += [
        Definitions(cluster).on_change,
        Collector(cluster).on_change,
        Terminator(cluster).on_change,
    ]
    for name in FIRST_NAMESPACES:
        cluster.core("namespaces").put(first_namespace(name, str(uuid.uuid4()), clock.now()))
    return cluster


def write_kubeconfig(path: Path | str, *, url: str, token: str = "", certificate_authority: Path | None = None) -> Path:
    """Write a kubeconfig (as JSON, which is YAML) with one context, `emulator`."""
    cluster: dict[str, Any] = {"server": url}
    if certificate_authority is not None:
        cluster["certificate-authority"] = str(Path(certificate_authority).resolve())
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "emulator",
        "clusters": [{"name": "emulator", "cluster": cluster}],
        "users": [{"name": "emulator", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "emulator", "context": {"cluster": "emulator", "user": "emulator"}}],
    }
    target = Path(path)
    target.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return target
