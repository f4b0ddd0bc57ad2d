"""Taking over: which running pods a Reservation may take over, so that it reserves what they use (R33 to R36)."""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

import msgspec

from pyroclast.framework.session.session import Session
from pyroclast.model import wire
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.patches import annotation_of
from pyroclast.model.plan import Preparation
from pyroclast.model.refusals import Refusal
from pyroclast.model.reservations.affinity import read_demand
from pyroclast.model.reservations.names import ALLOCATED, CURRENT_OWNER, PRE_ALLOCATION_REQUIRED
from pyroclast.model.reservations.owners import MOST_OWNERS, read_owners
from pyroclast.model.reservations.status import noted_uid
from pyroclast.model.reservations.use import ReservationUse, Takeover
from pyroclast.model.resources import PODS
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import ALLOCATED_STATUSES, Task, by_name
from pyroclast.plugins.reservation.arguments import PreAllocationConfig
from pyroclast.plugins.reservation.settings import NAME

__all__ = ["MOST_PODS", "NO_POD", "TakingOver", "preparations"]

NO_POD: Final = "node(s) no pod match reservation with pre allocation required"
_UNSUPPORTED: Final = (
    "reservation pre allocation is unsupported with current attributes: it needs the allocate policy Restricted"
)
_DISABLED: Final = "reservation requires cluster mode pre-allocation which is disabled"
MOST_PODS: Final = 10_000
"""Maximum number of pods that are compared with the owners of one Reservation in a session."""
_MOST_TOGETHER: Final = 50_000
"""The same for all waiting Reservations, which have equal parts of it."""
_LEAST_PART: Final = 256
"""Pods that each of them may be compared with in any case."""
_LONGEST_NUMBER: Final = 20


class TakingOver:
    """Answers about the Reservations of one session that may take over pods."""

    def __init__(self, session: Session, config: PreAllocationConfig) -> None:
        self._session, self._config = session, config
        self._known: dict[TaskId, ReservationUse | None] = {}

    def refusal(self, task: Task) -> Refusal | None:
        """Refuse a Reservation that may take over pods, but with attributes that exclude it."""
        spec = self._spec(task)
        if spec is None or not (spec.pre_allocation or _is_required(task)):
            return None
        message = ""
        if not spec.pre_allocation:
            message = f"{NO_POD}: preAllocation is false"
        elif spec.allocate_policy != wire.AllocatePolicy.RESTRICTED:
            message = _UNSUPPORTED
        elif _is_of_cluster(spec) and not self._config.cluster_mode:
            message = _DISABLED
        if not message:
            use = self.use_of(task)
            takeover = None if use is None else use.takeover
            if takeover is None or takeover.candidates or not takeover.is_required:
                return None
            message = f"0/{len(self._session.nodes)} nodes are available: {NO_POD}."
        return Refusal(plugin=NAME, reason="PreAllocationNotPossible", message=message, resolvable=False)

    def use_of(self, task: Task) -> ReservationUse | None:
        """Return which pods a Reservation may take over; None if it takes over none."""
        if task.id not in self._known:
            self._known[task.id] = self._use_of(task)
        return self._known[task.id]

    def _use_of(self, task: Task) -> ReservationUse | None:
        spec = self._spec(task)
        if spec is None or not spec.pre_allocation or spec.allocate_policy != wire.AllocatePolicy.RESTRICTED:
            return None
        policy = spec.pre_allocation_policy
        candidates: dict[NodeName, list[Task]] = {}
        for pod in self._candidates(task, spec):
            assert pod.node is not None, "pods that are assigned have a node"
            candidates.setdefault(pod.node, []).append(pod)
        return ReservationUse(
            takeover=Takeover(
                candidates=SealedDict(
                    (node, tuple(pod.id for pod in self._in_order(task, spec, pods)))
                    for node, pods in sorted(candidates.items())
                ),
                takes_several=policy is not None and policy.enable_multiple,
                is_required=_is_required(task),
                prefers_none=self._config.prefers_none,
            )
        )

    def _spec(self, task: Task) -> wire.ReservationSpec | None:
        name = self._session.snapshot.reserve_tasks.get(task.id, "")
        reservation = self._session.snapshot.objects.reservations.get(name)
        return None if reservation is None else reservation.spec

    @cached_property
    def _most_pods(self) -> int:
        """Maximum number of pods that are compared with the owners of each Reservation."""
        known, names = self._session.snapshot.objects.reservations, self._session.snapshot.reserve_tasks.values()
        found = (known[name] for name in names if name in known)
        waiting = sum(each.spec.pre_allocation and not each.status.node_name for each in found)
        return min(MOST_PODS, max(_MOST_TOGETHER // max(waiting, 1), _LEAST_PART))

    @cached_property
    def _pods(self) -> list[Task]:
        """Pods on nodes, without those that stand for Reservations."""
        snapshot = self._session.snapshot
        return [
            task
            for tasks in snapshot.nodes.tasks
            for task in tasks.values()
            if task.status in ALLOCATED_STATUSES and task.id not in snapshot.reserve_tasks
        ]

    @cached_property
    def _by_label(self) -> dict[tuple[str, str], list[Task]]:
        """These pods by each of their labels."""
        found: dict[tuple[str, str], list[Task]] = {}
        for pod in self._pods:
            for label in pod.pod.metadata.labels.items():
                found.setdefault(label, []).append(pod)
        return found

    def _looked_at(self, spec: wire.ReservationSpec) -> Iterator[Task]:
        """Yield pods that may match an entry of the owners by labels, at most `_most_pods`; each one once."""
        seen: set[TaskId] = set()
        count = 0
        labelled = [(self._config.label, "true")] if _is_of_cluster(spec) else []
        for owner in spec.owners[:MOST_OWNERS]:
            selector = owner.label_selector
            if selector is None and not labelled:
                continue
            labels = [*labelled, *(() if selector is None else selector.match_labels.items())]
            pods = min((self._by_label.get(label, []) for label in labels), key=len, default=self._pods)
            for pod in pods:
                count += 1
                if count > self._most_pods:
                    return
                if pod.id not in seen:
                    seen.add(pod.id)
                    yield pod

    def _candidates(self, task: Task, spec: wire.ReservationSpec) -> Iterator[Task]:
        """Yield the pods that match the owners by labels, and in the mode Cluster have the configured label."""
        name = self._session.snapshot.reserve_tasks[task.id]
        is_of_cluster = _is_of_cluster(spec)
        if is_of_cluster and not self._config.cluster_mode:
            return
        try:
            owners = read_owners([each for each in spec.owners if is_of_cluster or each.label_selector is not None])
        except ValueError:
            return  # its owners are reported where it is read
        for pod in self._looked_at(spec):
            if is_of_cluster and pod.pod.metadata.labels.get(self._config.label) != "true":
                continue
            text = pod.pod.metadata.annotations.get(ALLOCATED)
            if text and noted_uid(text) != task.id:
                continue  # it uses another one; its own name is left by a scheduler that was killed before the bind
            if owners.match(pod.pod) and _may_use(pod.pod, name):
                yield pod

    def _in_order(self, task: Task, spec: wire.ReservationSpec, pods: list[Task]) -> list[Task]:
        """Return the preferred pods first: by priority in the mode Cluster, else those that fill the Reservation."""
        if _is_of_cluster(spec):
            return sorted(pods, key=lambda pod: (-_integer(pod, self._config.priority), by_name(pod)))
        return sorted(pods, key=lambda pod: (-_fullness(task, pod), by_name(pod)))


def preparations(session: Session, task: Task) -> list[Preparation]:
    """Return the annotations of other pods that are written before a task is bound (R35, R37).

    Pods that a Reservation takes over get its name. A pod in operating mode gets the pod that uses its capacity.
    """
    name = session.snapshot.reserve_tasks.get(task.id)
    if name is not None:
        text = msgspec.json.encode({"name": name, "uid": task.id}).decode()
        return [annotation_of(pod, ALLOCATED, text) for pod in session.reserved.takeovers.pods_of(task.id)]
    room = session.reserved.used_by(task.id)
    if room is None or not room.capacity.counted:
        return []
    owner = {"namespace": task.namespace, "name": task.name, "uid": task.id}
    text = msgspec.json.encode(owner).decode()
    operating = session.nodes.tasks_on(room.column)[room.capacity.id]
    return [annotation_of(operating, CURRENT_OWNER, text, is_optional=True)]


def _is_required(task: Task) -> bool:
    return task.pod.metadata.labels.get(PRE_ALLOCATION_REQUIRED) == "true"


def _is_of_cluster(spec: wire.ReservationSpec) -> bool:
    policy = spec.pre_allocation_policy
    return policy is not None and policy.mode == wire.PreAllocationMode.CLUSTER


def _may_use(pod: wire.Pod, name: str) -> bool:
    """Return whether the annotations of a pod permit the Reservation."""
    try:
        demand = read_demand(pod)
    except ValueError:
        return False
    return not demand.ignores and demand.name in {"", name}


def _fullness(task: Task, pod: Task) -> float:
    """Return which part of a Reservation a pod uses: the mean over its resources, 0 where the pod uses more (R23)."""
    reserved = {name: amount for name, amount in task.template.request.items() if amount and name != PODS}
    used = pod.template.request
    shares = [used.get(name, 0) / amount for name, amount in reserved.items() if used.get(name, 0) <= amount]
    return sum(shares) / len(reserved) if reserved else 0.0


def _integer(pod: Task, key: str) -> int:
    text = pod.pod.metadata.annotations.get(key, "0")
    try:
        return int(text) if len(text) <= _LONGEST_NUMBER else 0
    except ValueError:
        return 0
