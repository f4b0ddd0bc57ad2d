"""Options: settings of the controllers, filled from the command line."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyroclast.model.api.names import DEFAULT_QUEUE, DEFAULT_SCHEDULER, SYSTEM_NAMESPACE

__all__ = ["DEFAULT_SHARDS", "DEFAULT_WORKERS", "ControllerOptions"]

DEFAULT_WORKERS = 3
DEFAULT_SHARDS = ("volcano:volcano:0.0:0.6:false:2:100", "agent-scheduler:agent:0.7:1.0:true:2:100")
"""Volcano's default of `--scheduler-configs`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """Options of the controllers."""

    scheduler_names: tuple[str, ...] = (DEFAULT_SCHEDULER,)
    """Names of our schedulers. Jobs without a scheduler get the first."""
    default_queue: str = DEFAULT_QUEUE
    """Queue of objects without a queue."""
    inherits_owner_annotations: bool = True
    """Whether pod groups inherit annotations from the owners of their pods."""
    follows_workloads: bool = True
    """Whether pod groups follow changes of ReplicaSets and StatefulSets (feature gate WorkLoadSupport)."""
    obeys_queue_commands: bool = True
    """Whether Commands open and close queues (feature gate QueueCommandSync)."""
    max_queue_depth: int = 5
    """Maximum depth of the queue tree below the root."""
    protects_root_queue: bool = True
    """Whether the amounts of the root queue are immutable."""
    discovery_config_map: tuple[str, str] = (SYSTEM_NAMESPACE, "volcano-controller-configmap")
    """Namespace and name of the ConfigMap with the settings of HyperNode discovery."""
    quota_namespace: str = SYSTEM_NAMESPACE
    """Namespace of the built-in elastic quotas."""
    rerun_succeeded_pods: bool = False
    """Whether deleted pods of Jobs that had succeeded are created again, with their deletion as an eviction."""
    reservation_ttl: float | None = 86400.0
    """Seconds after which Reservations that have ended are deleted; None for never."""
    shards: tuple[str, ...] = DEFAULT_SHARDS
    """Shards without a ConfigMap, in the form of `--scheduler-configs`."""
    sharding_config_map: tuple[str, str] = (SYSTEM_NAMESPACE, "volcano-sharding-configmap")
    """Namespace and name of the ConfigMap with the settings of sharding; an empty name for none."""
    shard_period: float = 60.0
    """Seconds between two assignments of nodes to shards."""
    shards_follow_nodes: bool = True
    """Whether changes of nodes are followed at once."""
    workers: Mapping[str, int] = field(default_factory=dict)
    """Maximum number of concurrent reconciliations by reconciler."""

    def workers_of(self, name: str) -> int:
        """Return the maximum number of concurrent reconciliations of a reconciler."""
        return self.workers.get(name, DEFAULT_WORKERS)
