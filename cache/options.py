"""Options of the books: which objects are this scheduler's, and how loose ends are read."""

from dataclasses import dataclass
from typing import Final

from pyroclast.cache.sync.node_selector import NodeFilter
from pyroclast.cache.sync.ring import Ownership
from pyroclast.model.api import names
from pyroclast.model.ids import QueueName

__all__ = ["ALWAYS_IGNORED_PROVISIONERS", "DEFAULT_QUEUE", "SINGLE", "WAIT", "StateOptions"]

DEFAULT_QUEUE: Final = QueueName(names.DEFAULT_QUEUE)
EVERY_NODE: Final = NodeFilter()
WAIT: Final = "wait"
"""Pods without a group wait for the controller that makes one."""
SINGLE: Final = "single"
"""Pods without a group are gangs of one."""
ALWAYS_IGNORED_PROVISIONERS: Final = frozenset(
    {"rancher.io/local-path", "hostpath.csi.k8s.io", "kubernetes.io/no-provisioner"}
)
"""Their volumes are folders or disks of the node: nothing is attached, nothing is limited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateOptions:
    """How the books read the cluster."""

    scheduler_names: frozenset[str] = frozenset({names.DEFAULT_SCHEDULER})
    """Pods that name one of these are placed by this scheduler; others only take room."""
    ignore_scheduler_name: bool = False
    """Take every pod for ours, whatever scheduler it names."""
    default_queue: QueueName = DEFAULT_QUEUE
    """Queue of groups that name none."""
    ungrouped_pods: str = WAIT
    """`wait` or `single`."""
    node_selector: NodeFilter = EVERY_NODE
    ownership: Ownership | None = None
    """This scheduler's share of a hash ring; None where it is alone."""
    shard_mode: str = "none"
    """`none`, `hard` or `soft`."""
    shard_name: str = "volcano"
    """NodeShard object of this scheduler."""
    ignored_provisioners: frozenset[str] = frozenset()
    """CSI provisioners whose volumes are not counted, beside the ones that never are."""
    caps_group_priority: bool = False
    """Whether a PodGroup's priority class counts up to the highest priority of its pods."""
    lifts_queue_gates: bool = False
    """Whether gates of queues are taken off pods; passed on in the snapshot."""
    assume_seconds: float = 60.0
    """How long an assumption may wait for its echo before the pod is read again."""
