"""A cluster that lives: between cycles pods end, fail and linger, servers refuse, nodes and queues change."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from pyroclast.cache.files.objects import decoded
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.model import wire
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.scheduler.simulation.cluster import SimulatedCluster

__all__ = ["LivingCluster"]


class LivingCluster(SimulatedCluster):
    """Objects that change while books are kept of them; a broken object is a mistake of the test."""

    def __init__(self, objects: Iterable[Mapping[str, Any]]) -> None:
        """Take objects over."""
        self.faults: list[str] = []
        super().__init__(
            objects, StateOptions(), report=lambda fault: self.faults.append(str(fault)), note=self.faults.append
        )

    # What others do

    def put(self, objects: Iterable[Mapping[str, Any]]) -> None:
        """Make or replace objects."""
        for kind, each in decoded(objects, report=lambda fault: self.faults.append(str(fault))):
            self._set(kind, each)
            if kind == "Pod":
                self._first_pods[each.metadata.key] = each

    def drop(self, kind: str, key: str) -> None:
        """Delete an object that is no pod."""
        self._state.remove(kind, self._of(kind).pop(key))

    def one(self, kind: str, key: str) -> Any:
        """Return an object as it stands; pods go by UID."""
        return self._of(kind)[key]

    def pods(self) -> list[wire.Pod]:
        """Return all pods, by name."""
        return sorted(self._of("Pod").values(), key=lambda pod: pod.metadata.key)

    def change(self, kind: str, each: Any) -> None:
        """Replace an object."""
        self._set(kind, each)

    def delete_pod(self, pod: wire.Pod, now: float, *, made_anew: bool) -> None:
        """Let a pod be gone, and a controller make it anew."""
        self._delete(TaskId(pod.metadata.uid), now, recreate=made_anew)

    def end(self, pod: wire.Pod, phase: str) -> None:
        """Let a pod end, well or not."""
        self._set("Pod", replace(pod, status=replace(pod.status, phase=phase)))

    # What becomes of decisions

    def settle_in_part(
        self,
        plans: Iterable[Plan],
        report: CycleReport,
        *,
        now: float,
        refused: Collection[TaskId],
        lingering: Collection[TaskId],
    ) -> None:
        """Carry plans out, but for what the server refuses; some of those who must go take their time.

        Args:
            plans: Those that were assumed.
            report: What else the cycle said.
            now: When it happens.
            refused: Pods whose bind or eviction is refused.
            lingering: Pods whose eviction begins and does not end yet.
        """
        kept = list(plans)
        out = {*refused, *lingering}
        self.settle(
            [
                replace(
                    plan,
                    binds=tuple(each for each in plan.binds if each.task not in refused),
                    evictions=tuple(each for each in plan.evictions if each.task not in out),
                )
                for plan in kept
            ],
            report,
            now=now,
            recreate_evicted=True,
        )
        for plan in kept:
            for bind in plan.binds:
                if bind.task in refused:
                    self._state.forget(bind.task, bind.node, failed=True)
            for eviction in plan.evictions:
                if eviction.task in refused:
                    self._state.forget(eviction.task, None, failed=True)
                elif eviction.task in lingering:
                    self._linger(eviction.task, now)

    def _linger(self, task: TaskId, now: float) -> None:
        pod = self._of("Pod")[task]
        self._set("Pod", replace(pod, metadata=replace(pod.metadata, deletion_timestamp=wire.time_text(now + 30))))

    def end_lingering(self, now: float) -> None:
        """Let all be gone that are on their way out."""
        for pod in self.pods():
            if pod.metadata.deletion_timestamp:
                self.delete_pod(pod, now, made_anew=True)

    # What processes do

    def restart(self) -> None:
        """Begin anew with nothing but the objects, as a daemon does."""
        usage, self._state = self._state.usage, ClusterState(StateOptions())
        self._state.measure(usage)
        for kind, objects in self._objects.items():
            for each in objects.values():
                self._state.apply(kind, each)
        self._state.mark_half_bound()

    def rebuilt(self) -> Snapshot:
        """Return the snapshot of books made anew from what is stored."""
        return self._state.rebuild().snapshot()

    @property
    def state(self) -> ClusterState:
        """The running books."""
        return self._state
