"""Reconciler: keeps the NodeShards that the settings name, and deletes those that it made and they name no more."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store
from pyroclast.controllers.sharding.assignment import ShardNode, assigned, is_due
from pyroclast.controllers.sharding.metrics import SHARD_NODES
from pyroclast.controllers.sharding.settings import ShardingSettings, read_flags, read_settings
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import NODE_SHARDS, NODES, PODS
from pyroclast.kube.writes.events import Regarding
from pyroclast.model.api.shard import NodeShard
from pyroclast.model.quantity import QuantityError, millis
from pyroclast.model.wire import Node, Pod, ResourceList

__all__ = ["MANAGED_BY", "Sharding", "build"]

MANAGED_BY: Final = ("app.kubernetes.io/managed-by", "pyroclast-sharding")
"""Label of the NodeShards that this controller writes, and may delete."""
SETTINGS_KEY: Final = "sharding.yaml"
_MIRROR: Final = "kubernetes.io/config.mirror"
_LOOK_SECONDS: Final = 15.0
"""Time between two reads of the settings, which are one object that rarely changes."""
_LEAST_SECONDS: Final = 1.0
"""Least time between two assignments, which look at all pods."""
_SLICE: Final = 5_000
"""Number of pods before other tasks of the loop get their turn."""
_KEY: Final[Key] = ("", "sharding")


def build(operator: Operator, options: ControllerOptions) -> None:
    """Register the controller with an operator."""
    Sharding(operator, options)


class Sharding(Controller):
    """Writes NodeShards. It has one key."""

    name: ClassVar[str] = "sharding"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch NodeShards, nodes and pods."""
        self._shards: Store[NodeShard] = operator.store(NODE_SHARDS)
        self._nodes: Store[Node] = operator.store(NODES)
        self._pods: Store[Pod] = operator.store(PODS)
        self._of_flags = read_flags(options.shards)
        self._period, self._follows_nodes = options.shard_period, options.shards_follow_nodes
        self._place = options.sharding_config_map
        self._settings: ShardingSettings | None = None
        """The settings in force; None before the first valid ones."""
        self._reported: tuple[str, ...] = ()
        self._is_changed = True
        """Whether something changed since the last assignment."""
        self._next = 0.0
        """When the next periodic assignment is due, by the monotonic clock."""
        self._earliest = 0.0
        """Earliest time of the next assignment, by the monotonic clock."""
        super().__init__(
            operator,
            options,
            watches=[
                Watch(resource=NODE_SHARDS, keys=self._keys_of_shard),
                Watch(resource=NODES, keys=self._keys_of_node),
            ],
            workers=1,
        )
        self._queue.add(_KEY)

    async def reconcile(self, _: Key) -> float | None:
        """Assign the nodes after changes and periodically.

        Raises:
            ApiError: The server refused.
        """
        settings = await self._current_settings()
        if settings is None:
            return _LOOK_SECONDS
        now = self._operator.clock.monotonic()
        period = self._period if settings.period_seconds is None else settings.period_seconds
        if self._is_changed or now >= self._next:
            if now < self._earliest:
                return self._earliest - now
            self._is_changed, self._earliest, self._next = False, now + _LEAST_SECONDS, now + period
            try:
                await self._assign(settings)
            except BaseException:
                self._is_changed = True
                raise
        return min(_LOOK_SECONDS, period)

    async def _current_settings(self) -> ShardingSettings | None:
        """Read the ConfigMap. Without one the last settings stay, or the flags count. Faulty ones change nothing."""
        namespace, name = self._place
        if not name:
            self._settings = self._of_flags
            return self._settings
        try:
            found = await self._operator.client.request_json("GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}")
        except ApiError as error:
            if not error.is_not_found:
                raise
            if self._settings is None:
                self._settings = self._of_flags
            return self._settings
        settings = read_settings((found.get("data") or {}).get(SETTINGS_KEY) or "")
        if settings.faults:
            self._report(namespace, name, found["metadata"].get("uid", ""), settings.faults)
            return self._settings
        self._reported = ()
        if settings != self._settings:
            self._settings, self._is_changed = settings, True
        return settings

    def _report(self, namespace: str, name: str, uid: str, faults: tuple[str, ...]) -> None:
        """Record faults of the settings, each once while they last."""
        about = Regarding(api_version="v1", kind="ConfigMap", namespace=namespace, name=name, uid=uid)
        for fault in faults:
            if fault not in self._reported:
                self._operator.events.record(about, "Warning", "InvalidSharding", fault)
        self._reported = faults

    async def _assign(self, settings: ShardingSettings) -> None:
        nodes = await self._seen_nodes()
        desired = assigned(settings.shards, nodes)
        there = {shard.metadata.name: shard for shard in self._shards.values()}
        current = {name: shard.spec.nodes_desired for name, shard in there.items()}
        for name, assignment in desired.items():
            SHARD_NODES.labels(name).set(len(assignment))
        for name, shard in there.items():
            if name not in desired and _is_own(shard):
                await self._operator.writer.delete(NODE_SHARDS, shard.metadata)
                SHARD_NODES.labels(name).set(0)
        adopts = any(name in there and not _is_own(there[name]) for name in desired)
        if adopts or is_due(current, desired, (node.name for node in nodes)):
            await self._write(there, desired)

    async def _write(self, there: Mapping[str, NodeShard], desired: Mapping[str, Sequence[str]]) -> None:
        """Write the NodeShards.

        Each node leaves its old shard before it is in another one, so that it is in one at most whenever this process
        is killed.
        """
        claims = {node: name for name, nodes in desired.items() for node in nodes}
        known: dict[str, tuple[str, ...]] = {}
        for name in desired:
            if name in there:
                known[name] = there[name].spec.nodes_desired
                kept = tuple(node for node in known[name] if claims.get(node, name) == name)
                if kept != known[name]:
                    await self._merge(there[name], kept)
                    known[name] = kept
        for name, assignment in desired.items():
            if name not in there:
                metadata = {"name": name, "labels": dict([MANAGED_BY])}
                await self._operator.writer.create(
                    NODE_SHARDS, {"metadata": metadata, "spec": {"nodesDesired": list(assignment)}}
                )
            elif frozenset(known[name]) != frozenset(assignment) or not _is_own(there[name]):
                await self._merge(there[name], assignment)

    async def _merge(self, shard: NodeShard, nodes: Sequence[str]) -> None:
        change: dict[str, Any] = {
            "metadata": {"labels": dict([MANAGED_BY])},
            "spec": {"nodesDesired": list(nodes)},
        }
        await self._operator.writer.merge(NODE_SHARDS, shard.metadata, change)

    async def _seen_nodes(self) -> list[ShardNode]:
        """Return the nodes with the CPU that their pods request."""
        requested: dict[str, int] = {}
        for number, pod in enumerate(self._pods.values()):
            if number % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)  # the renewal of the lease must run
            node = pod.spec.node_name
            if node and pod.status.phase not in {"Succeeded", "Failed"} and _MIRROR not in pod.metadata.annotations:
                for container in pod.spec.containers:
                    requested[node] = requested.get(node, 0) + _cpu_millis(container.resources.requests)
        return [
            ShardNode(
                name=node.metadata.name,
                labels=node.metadata.labels,
                used_percent=_percent(requested.get(node.metadata.name, 0), _cpu_millis(node.status.capacity)),
            )
            for node in self._nodes.values()
        ]

    def _keys_of_shard(self, old: NodeShard | None, new: NodeShard | None) -> Iterable[Key]:
        """Return the key if a shard was created, deleted, or changed in its specification."""
        if old is not None and new is not None and old.spec == new.spec and old.metadata.labels == new.metadata.labels:
            return ()
        self._is_changed = True
        return (_KEY,)

    def _keys_of_node(self, old: Node | None, new: Node | None) -> Iterable[Key]:
        """Return the key if a node came, went, or has other labels or another capacity."""
        follows = None if self._settings is None else self._settings.follows_nodes
        if not (self._follows_nodes if follows is None else follows):
            return ()
        if (
            old is not None
            and new is not None
            and (old.metadata.labels, old.status.capacity) == (new.metadata.labels, new.status.capacity)
        ):
            return ()
        self._is_changed = True
        return (_KEY,)


def _is_own(shard: NodeShard) -> bool:
    label, value = MANAGED_BY
    return shard.metadata.labels.get(label) == value


def _cpu_millis(amounts: ResourceList) -> int:
    """Return the CPU of a list of amounts, thousandths; 0 if there is none that can be read."""
    try:
        return millis(amounts.get("cpu", "0"))
    except QuantityError:
        return 0


def _percent(used: int, capacity: int) -> int:
    """Return the used part of a capacity in hundredths, rounded half up, at most 100."""
    return min(100, (200 * used + capacity) // (2 * capacity)) if capacity > 0 else 0
