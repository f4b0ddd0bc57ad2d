"""Options: settings of the controllers, filled from the command line."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyroclast.model.api.names import DEFAULT_QUEUE, DEFAULT_SCHEDULER, SYSTEM_NAMESPACE

__all__ = ["DEFAULT_WORKERS", "ControllerOptions"]

DEFAULT_WORKERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """Options that the controllers are built with."""

    scheduler_names: tuple[str, ...] = (DEFAULT_SCHEDULER,)
    """Pods that name one of these are ours; the first is given to Jobs that name none."""
    default_queue: str = DEFAULT_QUEUE
    """Queue of objects that name none."""
    inherits_owner_annotations: bool = True
    """Pod groups take annotations of their pods' owners."""
    follows_workloads: bool = True
    """Replica sets and stateful sets keep their pod groups as they change (gate WorkLoadSupport)."""
    obeys_queue_commands: bool = True
    """Commands open and close queues (gate QueueCommandSync)."""
    max_queue_depth: int = 5
    """Most queues from one below the root down to the deepest."""
    protects_root_queue: bool = True
    """The amounts of the root queue may not be changed."""
    discovery_config_map: tuple[str, str] = (SYSTEM_NAMESPACE, "volcano-controller-configmap")
    """Namespace and name of the settings by which HyperNodes are discovered."""
    rerun_succeeded_pods: bool = False
    """Pods of Jobs that succeeded and are deleted are made again, and their deletion is an eviction."""
    workers: Mapping[str, int] = field(default_factory=dict)
    """Keys at work at a time, by name of the reconciler."""

    def workers_of(self, name: str) -> int:
        """Return how many keys a reconciler works on at a time."""
        return self.workers.get(name, DEFAULT_WORKERS)
