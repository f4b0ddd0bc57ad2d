"""NodeShard: the nodes of one of several schedulers."""

from typing import Annotated, ClassVar

import msgspec

from pyroclast.model.api import names
from pyroclast.model.api.definitions import AGE, Definition, KubernetesObject
from pyroclast.model.api.meta import Wire
from pyroclast.model.api.rules import REQUIRED, Time

__all__ = ["NodeShard", "NodeShardSpec", "NodeShardStatus"]


class NodeShardSpec(Wire, frozen=True, kw_only=True):
    """Desired nodes of the shard."""

    nodes_desired: Annotated[tuple[str, ...], REQUIRED] = msgspec.field(default_factory=lambda: ())
    """Nodes that belong to the shard."""


class NodeShardStatus(Wire, frozen=True, kw_only=True):
    """Current nodes of the shard."""

    last_update_time: Time = ""
    """Time of the last status update."""
    nodes_in_use: tuple[str, ...] = ()
    """Nodes that the scheduler of the shard uses now."""
    nodes_to_remove: tuple[str, ...] = ()
    """Nodes that are in use and no longer desired."""
    nodes_to_add: tuple[str, ...] = ()
    """Nodes that are desired and not in use yet."""


class NodeShard(KubernetesObject, frozen=True, kw_only=True):
    """NodeShard is the set of nodes of one of several schedulers."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.SHARD,
        kind="NodeShard",
        plural="nodeshards",
        short_names=("nsh",),
        is_namespaced=False,
        columns=(AGE,),
    )
    spec: Annotated[NodeShardSpec, REQUIRED] = NodeShardSpec()
    """Desired nodes of the shard."""
    status: NodeShardStatus = NodeShardStatus()
    """Current nodes of the shard."""
