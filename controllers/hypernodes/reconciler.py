"""Reconciler: writes the statuses of HyperNodes, and discovers HyperNodes from node labels."""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

import msgspec

from pyroclast.controllers.admission.faults import faults_message
from pyroclast.controllers.admission.rules.hypernodes import faults_of
from pyroclast.controllers.hypernodes.discovery import SOURCE, discovered
from pyroclast.controllers.hypernodes.members import depends_on_nodes, member_names
from pyroclast.controllers.hypernodes.settings import DiscoverySettings, SettingsFault, read_settings
from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.invalid_condition import FaultReporter, renewed_conditions
from pyroclast.controllers.runtime.keys import own_key
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store, key_of
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import HYPER_NODES, NODES
from pyroclast.kube.writes.events import Regarding
from pyroclast.model.api import names
from pyroclast.model.api.topology import HyperNode
from pyroclast.model.wire import Node

__all__ = ["NodeCounts", "TopologyDiscovery", "build"]

_SETTINGS_KEY: Final = "volcano-controller.conf"
_LOOK_SECONDS: Final = 15.0
"""Time between two reads of the settings, which are one object that rarely changes."""
_DISCOVERY: Final[Key] = ("", SOURCE)
_BY_SELECTOR: Final = "selector"
_NODES_COUNT: Final = "nodes"


def build(operator: Operator, options: ControllerOptions) -> None:
    """Register the controllers with an operator."""
    NodeCounts(operator, options)
    TopologyDiscovery(operator, options)


class NodeCounts(Controller):
    """Writes the number of members of HyperNodes. Its keys are HyperNodes."""

    name: ClassVar[str] = "hypernode"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch HyperNodes and nodes."""
        self._hyper_nodes: Store[HyperNode] = operator.store(HYPER_NODES, {_BY_SELECTOR: _selectors_of})
        self._nodes: Store[Node] = operator.store(NODES)
        self._faults = FaultReporter(operator, HYPER_NODES)
        super().__init__(
            operator,
            options,
            watches=[
                Watch(resource=HYPER_NODES, keys=own_key),
                Watch(resource=NODES, keys=self._keys_of_node),
            ],
        )

    async def reconcile(self, key: Key) -> float | None:
        """Count the members of a HyperNode, and report its faults. An invalid selector selects nothing.

        Raises:
            ApiError: The server refused.
        """
        hyper_node = self._hyper_nodes.get(*key)
        if hyper_node is None or hyper_node.metadata.deletion_timestamp:
            self._faults.forget(key)
            return None
        message = faults_message(faults_of(hyper_node))
        self._faults.report(hyper_node, message)
        status: dict[str, Any] = {}
        count = len(member_names(hyper_node, self._nodes.values()))
        if count != hyper_node.status.node_count:
            status["nodeCount"] = count
        conditions = renewed_conditions(hyper_node.status.conditions, message, self._operator.clock.wall())
        if conditions is not None:
            status["conditions"] = conditions
        if status:
            change = {"status": status}
            await self._operator.writer.merge(HYPER_NODES, hyper_node.metadata, change, subresource="status")
        return None

    def _keys_of_node(self, old: Node | None, new: Node | None) -> Iterable[Key]:
        """Return the HyperNodes with selectors of nodes, unless the change is only a heartbeat."""
        if not _is_relabelled(old, new):
            return ()
        return [key_of(hyper_node) for hyper_node in self._hyper_nodes.by(_BY_SELECTOR, _NODES_COUNT)]


class TopologyDiscovery(Controller):
    """Creates HyperNodes from node labels. It has one key."""

    name: ClassVar[str] = "topology-discovery"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch HyperNodes and nodes."""
        self._place = options.discovery_config_map
        self._reported_faults: tuple[SettingsFault, ...] = ()
        self._about: Regarding | None = None
        """The settings object. None before the first read."""
        self._hyper_nodes: Store[HyperNode] = operator.store(HYPER_NODES)
        self._nodes: Store[Node] = operator.store(NODES)
        super().__init__(
            operator,
            options,
            watches=[
                Watch(resource=HYPER_NODES, keys=_key_of_discovery),
                Watch(resource=NODES, keys=lambda old, new: [_DISCOVERY] if _is_relabelled(old, new) else ()),
            ],
            workers=1,
        )
        # A cluster may get settings before its first node and HyperNode.
        self._queue.add(_DISCOVERY)

    async def reconcile(self, _: Key) -> float | None:
        """Update the discovered HyperNodes after changes of labels.

        Raises:
            ApiError: The server refused.
        """
        settings = await self._settings()
        if settings.types is not None and settings.is_sound:
            await self._apply(discovered(settings.types, self._nodes.values(), self._hyper_nodes.values()))
        return _LOOK_SECONDS

    async def _settings(self) -> DiscoverySettings:
        """Read the settings and report their faults. Without settings nothing is discovered."""
        namespace, name = self._place
        try:
            config_map = await self._operator.client.request_json(
                "GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}"
            )
        except ApiError as error:
            if error.is_not_found:
                return DiscoverySettings()
            raise
        settings = read_settings((config_map.get("data") or {}).get(_SETTINGS_KEY, ""))
        self._about = about = Regarding(
            api_version="v1",
            kind="ConfigMap",
            namespace=namespace,
            name=name,
            uid=config_map["metadata"].get("uid", ""),
        )
        # A lasting fault is reported once, not in each round.
        for fault in settings.faults:
            if fault not in self._reported_faults:
                self._operator.events.record(about, "Warning", "InvalidTopologyDiscovery", str(fault))
        self._reported_faults = settings.faults
        return settings

    async def _apply(self, desired: list[dict[str, Any]]) -> None:
        """Create, change and delete HyperNodes of this source until they match the desired ones.

        Raises:
            ApiError: The server refused one. The others were processed.
        """
        refusals = [await self._ensure(manifest) for manifest in desired]
        kept = {manifest["metadata"]["name"] for manifest in desired}
        for hyper_node in self._hyper_nodes.values():
            if _is_discovered(hyper_node) and hyper_node.metadata.name not in kept:
                await self._operator.writer.delete(HYPER_NODES, hyper_node.metadata)
        for refusal in filter(None, refusals):
            raise refusal

    async def _ensure(self, manifest: dict[str, Any]) -> ApiError | None:
        """Create or update a HyperNode. Return the error if the server refuses it."""
        there = self._hyper_nodes.get("", manifest["metadata"]["name"])
        try:
            if there is None:
                # A HyperNode that was created meanwhile is checked when the store shows it.
                await self._operator.writer.create(HYPER_NODES, manifest)
            elif change := _change(there, manifest):
                await self._operator.writer.merge(HYPER_NODES, there.metadata, change)
        except ApiError as error:
            if error.is_temporary:
                raise
            if self._about is not None:
                message = f"{manifest['metadata']['name']} cannot be made what labels say: {error.message}"
                self._operator.events.record(self._about, "Warning", "InvalidTopologyDiscovery", message)
            return error
        return None


def _change(there: HyperNode, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the merge patch to the desired HyperNode, empty if nothing differs."""
    desired = msgspec.convert(manifest, HyperNode)
    if desired.spec == there.spec and desired.metadata.labels.items() <= there.metadata.labels.items():
        return {}
    return {"metadata": {"labels": manifest["metadata"]["labels"]}, "spec": manifest["spec"]}


def _is_discovered(hyper_node: HyperNode) -> bool:
    return hyper_node.metadata.labels.get(names.NETWORK_TOPOLOGY_SOURCE) == SOURCE


def _selectors_of(hyper_node: HyperNode) -> Iterable[str]:
    return (_NODES_COUNT,) if depends_on_nodes(hyper_node) else ()


def _is_relabelled(old: Node | None, new: Node | None) -> bool:
    """Return whether a node came, went, or has other labels."""
    return old is None or new is None or old.metadata.labels != new.metadata.labels


def _key_of_discovery(old: HyperNode | None, new: HyperNode | None) -> Iterable[Key]:
    """Return the discovery key if a discovered HyperNode was changed or deleted. Changes of the status do not count."""
    if old is not None and new is not None and (old.spec, old.metadata.labels) == (new.spec, new.metadata.labels):
        return ()
    return (_DISCOVERY,) if any(each is not None and _is_discovered(each) for each in (old, new)) else ()
