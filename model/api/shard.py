"""Parts of a cluster: NodeShard, the nodes that one of several schedulers works on."""

from typing import Annotated, ClassVar

import msgspec

from pyroclast.model.api import names
from pyroclast.model.api.definitions import AGE, Definition, KubernetesObject
from pyroclast.model.api.meta import Wire
from pyroclast.model.api.rules import REQUIRED, Time

__all__ = ["NodeShard", "NodeShardSpec", "NodeShardStatus"]


class NodeShardSpec(Wire, frozen=True, kw_only=True):
    """Nodes the shard should have."""

    nodes_desired: Annotated[tuple[str, ...], REQUIRED] = msgspec.field(default_factory=lambda: ())
    """Nodes that belong to the shard."""


class NodeShardStatus(Wire, frozen=True, kw_only=True):
    """Nodes the shard has."""

    last_update_time: Time = ""
    """When the status was written last."""
    nodes_in_use: tuple[str, ...] = ()
    """Nodes that the scheduler of the shard works on now."""
    nodes_to_remove: tuple[str, ...] = ()
    """Nodes that are in use and no longer desired."""
    nodes_to_add: tuple[str, ...] = ()
    """Nodes that are desired and not in use yet."""


class NodeShard(KubernetesObject, frozen=True, kw_only=True):
    """NodeShard is a set of nodes that one of several schedulers works on."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.SHARD,
        kind="NodeShard",
        plural="nodeshards",
        short_names=("nsh",),
        is_namespaced=False,
        columns=(AGE,),
    )
    spec: Annotated[NodeShardSpec, REQUIRED] = NodeShardSpec()
    """Nodes the shard should have."""
    status: NodeShardStatus = NodeShardStatus()
    """Nodes the shard has."""
