"""Options: settings of the controllers, filled from the command line."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyroclast.model.api.names import DEFAULT_QUEUE, DEFAULT_SCHEDULER, SYSTEM_NAMESPACE

__all__ = ["DEFAULT_WORKERS", "ControllerOptions"]

DEFAULT_WORKERS = 3


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
    workers: Mapping[str, int] = field(default_factory=dict)
    """Maximum number of concurrent reconciliations by reconciler."""

    def workers_of(self, name: str) -> int:
        """Return the maximum number of concurrent reconciliations of a reconciler."""
        return self.workers.get(name, DEFAULT_WORKERS)
