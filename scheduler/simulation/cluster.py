"""The simulated cluster: simulates API server, kubelets and controllers, and updates the cluster state.

Between two cycles a decision is fully executed: bound pods run, their volumes are bound, evicted pods are deleted, and
the objects contain what the cycle wrote. The cluster state changes as it does with a live cluster: a plan is assumed,
then the changed objects arrive.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from pyroclast.cache.files.measurements import MEASURED, measurements
from pyroclast.cache.files.objects import decoded, unfolded
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.cache.stores.volumes import provisioning_driver
from pyroclast.model import wire
from pyroclast.model.device_claims import ALLOCATE_CLAIM, device_claim_keys, released, reserved
from pyroclast.model.errors import ObjectError
from pyroclast.model.gangs import GangRules
from pyroclast.model.ids import JobId, QueueName, TaskId
from pyroclast.model.patches import ANNOTATE_POD
from pyroclast.model.plan import Bind, Plan, Preparation
from pyroclast.model.report import CycleReport, GroupStatus, NativeGroupStatus, PodCondition, QueueAllocation
from pyroclast.model.requests import resource_list
from pyroclast.model.reservations.status import available, next_status, unschedulable, users_of
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.watched import WatchedKind

__all__ = ["SimulatedCluster"]

T = TypeVar("T")
C = TypeVar("C", bound=wire.Condition | wire.PodGroupCondition)

_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"


class SimulatedCluster:
    """Objects, and the cluster state that is built from them."""

    def __init__(
        self,
        objects: Iterable[Mapping[str, Any]],
        options: StateOptions,
        *,
        watched: Collection[WatchedKind] = (),
        report: Callable[[ObjectError], None],
        note: Callable[[str], None],
    ) -> None:
        """Add objects.

        Args:
            objects: Kubernetes objects with their kinds. Lists are unfolded.
            options: Options of the cluster state.
            watched: Kinds that plugins watch.
            report: Called for each faulty object and field.
            note: Called for kinds that scheduling does not use.
        """
        self._state = ClusterState(options, report)
        self._watched = watched
        self._report = report
        self._note = note
        self._objects: dict[str, dict[str, Any]] = {}
        """Objects by kind, then by UID for pods and by key for others."""
        self._first_pods: dict[str, wire.Pod] = {}
        """Pods as given, by key. Recreated pods are copies of them."""
        self.add(objects)

    def add(self, objects: Iterable[Mapping[str, Any]]) -> None:
        """Add further objects. An object with a known name is replaced."""
        found = decoded(
            _within_bounds(objects, self._report), watched=self._watched, report=self._report, note=self._note
        )
        if any(kind == MEASURED for kind, _ in found):  # a new set of measurements replaces the old one
            self._state.measure(measurements(found, self._report))
        for kind, each in found:
            if kind == MEASURED:
                continue
            self._set(kind, each)
            if kind == "Pod":
                self._first_pods[each.metadata.key] = each

    def follow_gangs(self, rules: GangRules | None) -> None:
        """Set the rules by which jobs are made of gangs; None for no gangs."""
        self._state.follow_gangs(rules)

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now."""
        return self._state.snapshot()

    def pod_names(self) -> dict[TaskId, str]:
        """Return `namespace/name` by task, and `reservations/name` of the tasks that stand for Reservations."""
        reservations = self._of("Reservation").values()
        return {
            **{TaskId(each.metadata.uid): f"reservations/{each.metadata.name}" for each in reservations},
            **{TaskId(uid): pod.metadata.key for uid, pod in self._of("Pod").items()},
        }

    def assume(self, plan: Plan, now: float) -> list[str]:
        """Assume the whole plan or nothing of it. Return the objections."""
        return self._state.assume(plan, now)

    def settle(self, plans: Iterable[Plan], report: CycleReport, *, now: float, recreate_evicted: bool) -> None:
        """Execute the decisions of a cycle.

        Args:
            plans: The assumed plans.
            report: The report of the cycle.
            now: The time of the execution, in seconds since 1970.
            recreate_evicted: Whether evicted pods are created again, pending, as by their controllers.
        """
        for status in report.group_statuses:
            self._write_group(status, now)
        for native_status in report.native_statuses:
            self._write_native(native_status, now)
        for condition in report.pod_conditions:
            self._write_pod(condition, now)
        for queue_status in report.queue_statuses:
            self._write_queue(queue_status)
        for plan in plans:
            for bind in plan.binds:
                for preparation in bind.preparations:
                    self._prepare(bind, preparation)
                self._start(bind, now)
            for eviction in plan.evictions:
                self._delete(eviction.task, now, recreate=recreate_evicted)
        self._sync_reservations(now)

    # Objects

    def _of(self, kind: str) -> dict[str, Any]:
        return self._objects.setdefault(kind, {})

    def _set(self, kind: str, each: Any) -> None:
        key = each.metadata.uid if kind == "Pod" else each.metadata.key
        self._of(kind)[key] = each
        self._state.apply(kind, each)

    # Writes of a cycle

    def _write_native(self, status: NativeGroupStatus, now: float) -> None:
        group = self._of("NativePodGroup")[f"{status.namespace}/{status.name}"]
        written = wire.NativeCondition(
            type=status.type,
            status=status.status,
            reason=status.reason,
            message=status.message,
            observed_generation=status.generation,
            last_transition_time=wire.time_text(now),
        )
        conditions = _with(group.status.conditions, (written,))
        self._set("NativePodGroup", replace(group, status=replace(group.status, conditions=conditions)))

    def _write_group(self, status: GroupStatus, now: float) -> None:
        group = self._of("PodGroup").get(JobId(status.job))
        if group is None:
            return  # the group of a single pod is not an object of the cluster
        written = tuple(
            wire.PodGroupCondition(
                type=each.type,
                status=each.status,
                reason=each.reason,
                message=each.message,
                transition_id=each.transition_id,
                last_transition_time=wire.time_text(now),
            )
            for each in status.conditions
        )
        new_status = replace(
            group.status,
            phase=status.phase.value,
            running=status.running,
            succeeded=status.succeeded,
            failed=status.failed,
            conditions=_with(group.status.conditions, written),
        )
        metadata = replace(group.metadata, annotations={**group.metadata.annotations, **status.annotations})
        self._set("PodGroup", replace(group, metadata=metadata, status=new_status))

    def _write_pod(self, condition: PodCondition, now: float) -> None:
        pod = self._of("Pod").get(condition.task)
        if pod is None:
            reservation = self._state.reservation_of(condition.task)
            if reservation is not None:
                status = unschedulable(reservation, condition.message, now)
                self._set("Reservation", replace(reservation, status=status))
            return
        written = wire.Condition(
            type="PodScheduled",
            status="False",
            reason=condition.reason,
            message=condition.message,
            last_transition_time=wire.time_text(now),
        )
        status = replace(
            pod.status,
            conditions=_with(pod.status.conditions, (written,)),
            nominated_node_name=(
                pod.status.nominated_node_name if condition.nominated_node is None else condition.nominated_node
            ),
        )
        self._set("Pod", replace(pod, status=status))

    def _write_queue(self, status: QueueAllocation) -> None:
        queue = self._of("Queue").get(QueueName(status.queue))
        if queue is not None:
            new_status = replace(queue.status, allocated=resource_list(status.allocated))
            self._set("Queue", replace(queue, status=new_status))

    # Simulated servers, kubelets and controllers

    def _start(self, bind: Bind, now: float) -> None:
        """Bind a pod and set it to running, or set a Reservation to Available."""
        if isinstance(bind.reservation, str):
            self._reserve(bind.reservation, bind, now)
            return
        pod = self._of("Pod")[bind.task]
        bound = wire.Condition(type="PodScheduled", status="True", last_transition_time=wire.time_text(now))
        status = replace(
            pod.status,
            phase="Running",
            conditions=_with(pod.status.conditions, (bound,)),
            nominated_node_name="",
            start_time=wire.time_text(now),
        )
        metadata = replace(
            pod.metadata,
            annotations={**pod.metadata.annotations, **bind.annotations},
            labels={**pod.metadata.labels, **(bind.labels or {})},
        )
        spec = replace(pod.spec, node_name=bind.node)
        self._set("Pod", replace(pod, metadata=metadata, spec=spec, status=status))

    def _annotate(self, details: Mapping[str, str]) -> None:
        pod = self._of("Pod")[details["uid"]]
        annotations = {**pod.metadata.annotations, details["key"]: details["text"]}
        self._set("Pod", replace(pod, metadata=replace(pod.metadata, annotations=annotations)))

    def _reserve(self, name: str, bind: Bind, now: float) -> None:
        reservation = self._of("Reservation")[name]
        metadata = replace(reservation.metadata, annotations={**reservation.metadata.annotations, **bind.annotations})
        self._set("Reservation", replace(reservation, metadata=metadata, status=available(reservation, bind.node, now)))

    def _sync_reservations(self, now: float) -> None:
        """Write the statuses of Reservations as their controller does."""
        nodes, pods = self._of("Node"), self._of("Pod").values()
        for reservation in list(self._of("Reservation").values()):
            owners = users_of(reservation, pods)
            has_node = reservation.status.node_name in nodes
            status = next_status(reservation, owners, has_node=has_node, now=now)
            if status is not None:
                self._set("Reservation", replace(reservation, status=status))

    def _delete(self, task: TaskId, now: float, *, recreate: bool) -> None:
        pod = self._of("Pod").pop(task)
        self._state.remove("Pod", pod)
        self._release_claims(pod)
        if recreate:
            self._set("Pod", _made_anew(self._first_pods[pod.metadata.key], pod.metadata.uid, now))

    def _allocate_claim(self, bind: Bind, preparation: Preparation) -> None:
        claim = self._of("ResourceClaim")[f"{preparation.namespace}/{preparation.name}"]
        text = preparation.details.get("allocation")
        allocation = None if text is None else msgspec.json.decode(text, type=wire.AllocationResult)
        self._set("ResourceClaim", reserved(claim, {bind.task: bind.name}, allocation))

    def _release_claims(self, pod: wire.Pod) -> None:
        """Release the resource claims of a pod that is gone, as their controller does."""
        for key in device_claim_keys(pod):
            claim = self._of("ResourceClaim").get(key)
            if claim is not None:
                self._set("ResourceClaim", released(claim, pod.metadata.uid))

    def _prepare(self, bind: Bind, preparation: Preparation) -> None:
        if preparation.kind == ANNOTATE_POD:
            self._annotate(preparation.details)
        if preparation.kind == ALLOCATE_CLAIM:
            self._allocate_claim(bind, preparation)
        if preparation.kind != "bind-volume":
            return
        key = f"{preparation.namespace}/{preparation.name}"
        claim = self._of("PersistentVolumeClaim").get(key)
        if claim is None or claim.spec.volume_name:
            return  # another pod with the same claim has the same preparation
        volume_name = preparation.details.get("volume", "")
        if volume_name:
            volume = self._of("PersistentVolume")[volume_name]
        else:
            storage_class = self._of("StorageClass").get(claim.spec.storage_class_name or "")
            volume = _provisioned(claim, provisioning_driver(storage_class))
            selected = {_SELECTED_NODE: preparation.details.get("selected-node", "")}
            claim = replace(
                claim, metadata=replace(claim.metadata, annotations={**claim.metadata.annotations, **selected})
            )
        reference = wire.ObjectReference(
            kind="PersistentVolumeClaim",
            namespace=claim.metadata.namespace,
            name=claim.metadata.name,
            uid=claim.metadata.uid,
        )
        self._set(
            "PersistentVolume",
            replace(
                volume,
                spec=replace(volume.spec, claim_ref=reference),
                status=wire.PersistentVolumeStatus(phase="Bound"),
            ),
        )
        self._set(
            "PersistentVolumeClaim",
            replace(
                claim,
                spec=replace(claim.spec, volume_name=volume.metadata.name),
                status=replace(claim.status, phase="Bound"),
            ),
        )


def _within_bounds(
    objects: Iterable[Mapping[str, Any]], report: Callable[[ObjectError], None]
) -> Iterator[Mapping[str, Any]]:
    """Leave out objects with integers beyond 64 bits. A file can contain them, but no API server accepts them."""
    for each in unfolded(objects):
        if _fits_64_bits(each):
            yield each
        else:
            name = each["metadata"].get("name", "") if isinstance(each.get("metadata"), Mapping) else ""
            report(ObjectError(str(each.get("kind")), str(name), "(whole object)", "an integer beyond 64 bits"))


def _fits_64_bits(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_fits_64_bits, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_fits_64_bits, value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _with(conditions: tuple[C, ...], written: tuple[C, ...]) -> tuple[C, ...]:
    """Replace the conditions of the written types."""
    types = {each.type for each in written}
    return (*(each for each in conditions if each.type not in types), *written)


def _made_anew(first: wire.Pod, last_uid: str, now: float) -> wire.Pod:
    """Return the pod that a controller creates in place of an evicted one."""
    metadata = replace(
        first.metadata, uid=f"{last_uid}.again", creation_timestamp=wire.time_text(now), deletion_timestamp=""
    )
    spec = replace(first.spec, node_name="")
    return replace(first, metadata=metadata, spec=spec, status=wire.PodStatus(phase="Pending"))


def _provisioned(claim: wire.PersistentVolumeClaim, driver: str) -> wire.PersistentVolume:
    """Return the volume that a driver provisions for a claim. Its node affinity is not simulated."""
    name = f"pvc-{claim.metadata.uid or claim.metadata.key.replace('/', '-')}"
    return wire.PersistentVolume(
        metadata=wire.ObjectMeta(name=name, uid=f"persistentvolume-{name}"),
        spec=wire.PersistentVolumeSpec(
            capacity=claim.spec.resources.requests,
            access_modes=claim.spec.access_modes,
            storage_class_name=claim.spec.storage_class_name or "",
            volume_mode=claim.spec.volume_mode,
            csi=wire.CSIVolume(driver=driver, volume_handle=name) if driver else None,
        ),
    )
