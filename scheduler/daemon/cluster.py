"""The daemon's cache and writers, built from the flags."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import structlog

from pyroclast.cache.cache import SchedulerCache
from pyroclast.cache.execution.writers import ClusterWriters
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.cache.sync.background import Background
from pyroclast.cache.sync.event_handlers import WATCHED_KINDS
from pyroclast.cache.sync.node_selector import NodeFilter
from pyroclast.cache.sync.ring import Ownership
from pyroclast.cache.sync.wake_triggers import OnTrigger
from pyroclast.kube.api import resources
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.discovery import Discovery
from pyroclast.kube.api.resources import Resource
from pyroclast.kube.writes.binder import ApiBinder
from pyroclast.kube.writes.binding import BIND_EXTENSIONS, Delegate
from pyroclast.kube.writes.events import EventRecorder
from pyroclast.kube.writes.status import StatusWriter
from pyroclast.kube.writes.write_priority import WritePriority
from pyroclast.model import wire
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import QueueName, TaskId
from pyroclast.scheduler.cli.options import Options
from pyroclast.scheduler.daemon.instrumented_writers import CountingBinder, CountingEvictor, Rate
from pyroclast.scheduler.handles.preparers import in_threads
from pyroclast.scheduler.monitoring.metrics import Metrics
from pyroclast.scheduler.recording.recorder import RecordedState, Recorder

__all__ = ["ESSENTIAL", "MAX_REMEMBERED_FAULTS", "Faults", "followed", "make_cache", "state_options"]

ESSENTIAL: Final = frozenset({"Pod", "Node", "PodGroup", "Queue"})
"""Kinds without which no cycle begins. A missing pod would free resources that are in use."""

MAX_REMEMBERED_FAULTS: Final = 10_000
"""Maximum number of distinct faults that are remembered. When it is reached, all are logged again."""
_LONGEST_FAULT: Final = 1_024
"""Characters of a fault that are remembered. Its words may quote a quarter of a megabyte of an annotation."""

_log = structlog.get_logger(__name__)


def make_cache(
    client: Client,
    options: Options,
    metrics: Metrics,
    rate: Rate,
    *,
    is_leader: Callable[[], bool],
    on_trigger: OnTrigger = lambda _trigger, _namespace: None,
    recorder: Recorder | None = None,
    delegate: Delegate | None = None,
) -> tuple[SchedulerCache, ClusterWriters]:
    """Create the cache of one API server and the writers that change the cluster.

    Args:
        client: The API client.
        options: The flags.
        metrics: The metrics.
        rate: Counts binds.
        is_leader: Whether this process may change the cluster.
        on_trigger: Called for each change that may allow a new decision.
        recorder: Records the inputs of the cluster state.
        delegate: Binds the pods that an extender binds.
    """
    write_priority, discovery = WritePriority(), Discovery(client)

    def created(task: TaskId) -> float | None:
        known = cache.state.task(task)
        return None if known is None else known.created

    own = ApiBinder(
        client,
        preparers=in_threads(BIND_EXTENSIONS.preparers),
        delegate=delegate,
        is_leader=is_leader,
        write_priority=write_priority,
    )
    writers = ClusterWriters(
        binder=CountingBinder(BIND_EXTENSIONS.around(own), metrics, rate, created=created),
        evictor=CountingEvictor(metrics, client, discovery, scheduler_name=options.component, is_leader=is_leader),
        statuses=StatusWriter(client, discovery, write_priority=write_priority),
        events=EventRecorder(client, component=options.component, write_priority=write_priority),
    )
    cache = SchedulerCache(
        client,
        writers,
        state_options(options),
        kinds=followed(options),
        may_write=is_leader,
        on_audit=lambda found: metrics.put("pyroclast_cache_drift", len(found)),
        on_fault=Faults(metrics),
        on_waiting_pod=lambda pod: _observe_watched(pod, metrics),
        on_trigger=on_trigger,
        background=Background(on_failure=lambda work: metrics.add("pyroclast_background_failures_total", 1, work)),
        make_state=ClusterState if recorder is None else partial(RecordedState, recorder),
    )
    return cache, writers


def _observe_watched(pod: wire.Pod, metrics: Metrics) -> None:
    """Observe the time between a pod's creation and its first event."""
    try:
        created = wire.unix_seconds(pod.metadata.creation_timestamp)
    except ValueError:
        return  # the translation of the pod reports this fault
    waited = max(time.time() - created, 0.0) * 1000
    metrics.observe("volcano_task_scheduling_latency_milliseconds", waited, "Watched")


def state_options(options: Options) -> StateOptions:
    """Return the cache options that the flags set."""
    environment = options.environment
    ownership = Ownership.of_pod(environment.ring_member, environment.ring_size) if environment.ring_member else None
    return StateOptions(
        scheduler_names=frozenset(options.scheduler_name),
        default_queue=QueueName(options.default_queue),
        ungrouped_pods=options.ungrouped_pods,
        caps_group_priority=options.cap_group_priority,
        node_selector=NodeFilter.parse(options.node_selector),
        ownership=ownership,
        shard_mode=options.scheduler_sharding_mode,
        shard_name=options.scheduler_sharding_name,
        ignored_provisioners=frozenset(options.ignored_provisioners),
        forms_native_groups=options.features.enabled("GenericWorkload"),
        lifts_queue_gates=options.features.enabled("SchedulingGatesQueueAdmission"),
        counts_resized_pods=options.features.enabled("ResizePod"),
    )


def followed(options: Options) -> tuple[Resource[Any], ...]:
    """Return the kinds to watch: all except those that a flag or a feature gate disables."""
    enabled = options.features.enabled
    switched_off = {
        resources.NATIVE_POD_GROUPS.name: not enabled("GenericWorkload"),
        resources.WORKLOADS.name: not enabled("GenericWorkload"),
        resources.PRIORITY_CLASSES.name: not (options.priority_class and enabled("PriorityClass")),
        resources.CSI_DRIVERS.name: not options.csi_storage,
        resources.CSI_STORAGE_CAPACITIES.name: not options.csi_storage,
        resources.REPLICATION_CONTROLLERS.name: not enabled("WorkLoadSupport"),
        resources.REPLICA_SETS.name: not enabled("WorkLoadSupport"),
        resources.STATEFUL_SETS.name: not enabled("WorkLoadSupport"),
        resources.POD_DISRUPTION_BUDGETS.name: not enabled("PodDisruptionBudgetsSupport"),
        resources.NUMATOPOLOGIES.name: not enabled("ResourceTopology"),
    }
    return tuple(kind for kind in WATCHED_KINDS if not switched_off.get(kind.name, False))


class Faults:
    """Counts faulty fields of objects, and logs each fault once while it is remembered."""

    def __init__(self, metrics: Metrics) -> None:
        """Count in `metrics`."""
        self._metrics = metrics
        self._logged: set[str] = set()

    def __call__(self, fault: ObjectError) -> None:
        """Count a fault, and log it if it is new."""
        self._metrics.add("pyroclast_broken_fields_total", 1, fault.kind)
        text = str(fault)[:_LONGEST_FAULT]
        if text not in self._logged:
            if len(self._logged) >= MAX_REMEMBERED_FAULTS:
                self._logged.clear()  # most belong to deleted objects; without this, new faults would stay hidden
            self._logged.add(text)
            _log.warning("object_broken", kind=fault.kind, object=fault.name, path=fault.path, fault=fault.message)
