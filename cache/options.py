"""Options of the cluster state: which objects belong to this scheduler, and how it treats pods without a group."""

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
"""Pods without a group wait until a controller creates one."""
SINGLE: Final = "single"
"""Pods without a group are gangs of one."""
ALWAYS_IGNORED_PROVISIONERS: Final = frozenset(
    {"rancher.io/local-path", "hostpath.csi.k8s.io", "kubernetes.io/no-provisioner"}
)
"""Their volumes are folders or disks of the node. They are not attached, and no limit applies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateOptions:
    """How the cluster state reads objects."""

    scheduler_names: frozenset[str] = frozenset({names.DEFAULT_SCHEDULER})
    """This scheduler places the pods that name one of these. Other pods only use resources of nodes."""
    ignore_scheduler_name: bool = False
    """Whether every pod belongs to this scheduler, regardless of the scheduler that it names."""
    default_queue: QueueName = DEFAULT_QUEUE
    """Queue of groups without a queue name."""
    ungrouped_pods: str = WAIT
    """How pods without a group are treated: `wait` or `single`."""
    node_selector: NodeFilter = EVERY_NODE
    ownership: Ownership | None = None
    """This scheduler's share of the hash ring; None if no ring is configured."""
    shard_mode: str = "none"
    """`none`, `hard` or `soft`."""
    shard_name: str = "volcano"
    """Name of this scheduler's NodeShard object."""
    ignored_provisioners: frozenset[str] = frozenset()
    """CSI provisioners whose driver a node need not have, in addition to `ALWAYS_IGNORED_PROVISIONERS`."""
    caps_group_priority: bool = False
    """Whether the highest priority of its pods limits the priority of a PodGroup."""
    forms_native_groups: bool = True
    """Whether pods that name a PodGroup of `scheduling.k8s.io` form a job; otherwise each of them is a job."""
    lifts_queue_gates: bool = False
    """Whether this scheduler removes the queue gates of pods. The snapshot contains the option."""
    counts_resized_pods: bool = True
    """Whether pods count as what plugins resized them to, by an annotation. The snapshot contains the option."""
    assume_seconds: float = 60.0
    """Time until an assumption that the watch does not confirm is overdue."""
