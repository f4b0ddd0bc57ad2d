"""Reservations: the rules of those that are Available, the pods that use them, and which of them a pod may use."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from pyroclast.cache.stores.reservations.operating_pods import MOST_OWNERS_OF_NAMESPACE, OperatingPods
from pyroclast.cache.stores.reservations.reservation_offers import ReservationOffers
from pyroclast.model import wire
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import TaskId
from pyroclast.model.patches import ANNOTATE_POD
from pyroclast.model.plan import Bind
from pyroclast.model.reservations.names import ALLOCATED
from pyroclast.model.reservations.operating import is_operating
from pyroclast.model.reservations.reading import ReservationRules, is_active, read_reservation
from pyroclast.model.reservations.reserve_pods import reserve_pod
from pyroclast.model.reservations.reserved import ReservedCapacity, counted_for, sum_of
from pyroclast.model.reservations.status import allocated_uid, noted_uid
from pyroclast.model.resources import NO_AMOUNTS, Amounts
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["ReservationStore"]

_FINISHED: Final = frozenset({TaskStatus.SUCCEEDED, TaskStatus.FAILED})


class ReservationStore:
    """Reservations by UID."""

    def __init__(self, report: Callable[[ObjectError], None]) -> None:
        """Start without Reservations; `report` receives each broken field."""
        self._report = report
        self._objects: dict[TaskId, wire.Reservation] = {}
        """Active Reservations: those that wait and those that are Available."""
        self._rules: dict[TaskId, ReservationRules] = {}
        """Rules of those that are Available."""
        self._offers = ReservationOffers({})
        """The same rules."""
        self._operating_pods = OperatingPods()
        self._operating: dict[TaskId, Task] = {}
        """Those that count; their rules are among the others."""
        self._counted: dict[str, dict[TaskId, wire.Reservation]] = {}
        """As which Reservations they act, by namespace."""
        self._users: dict[TaskId, dict[TaskId, Task]] = {}
        """Tasks on nodes whose pods name a Reservation, by its UID. It may be unknown, on another
        node, or not for them."""
        self._other_offers: set[TaskId] = set()
        """Those that other pods may use than when `rematch` was called last. Asked for membership alone."""
        self._shown: Mapping[TaskId, ReservedCapacity] | None = SealedDict()
        self._names: Mapping[TaskId, str] | None = SealedDict()

    def __contains__(self, task: object) -> bool:
        """Return whether a task stands for a Reservation."""
        return task in self._objects

    def of(self, task: TaskId) -> wire.Reservation | None:
        """Return the Reservation for which a task stands."""
        return self._objects.get(task)

    def set(self, reservation: wire.Reservation) -> wire.Pod | None:
        """Add or replace a Reservation. Return the pod that stands for it; None if it has ended or is not valid."""
        task = TaskId(reservation.metadata.uid)
        self.drop(task)
        if not is_active(reservation):
            return None
        try:
            pod = reserve_pod(reservation)
        except ObjectError as fault:
            self._report(fault)
            return None
        self._objects[task] = reservation
        if pod.spec.node_name:
            self._set_rules(task, reservation)
        return pod

    def drop(self, task: TaskId) -> None:
        """Forget a Reservation."""
        self._objects.pop(task, None)
        self._drop_rules(task)
        self._shown = self._names = None

    def _set_rules(self, task: TaskId, reservation: wire.Reservation) -> None:
        self._rules[task] = rules = read_reservation(reservation, self._report)
        self._offers.put(task, rules)

    def _drop_rules(self, task: TaskId) -> None:
        self._rules.pop(task, None)
        self._offers.drop(task)

    def names(self) -> Mapping[TaskId, str]:
        """Return the name of the Reservation by the task that stands for it."""
        if self._names is None:
            self._names = SealedDict((task, each.metadata.name) for task, each in sorted(self._objects.items()))
        return self._names

    def amounts(self) -> list[Amounts]:
        """Return all reserved amounts."""
        return [rules.allocatable for rules in self._rules.values()]

    def lent(self, bind: Bind, tasks: Mapping[TaskId, Task]) -> Amounts:
        """Return what is used together with pods of the node that count there already, thousandths by name.

        The pod of a bind uses the capacity of a pod in operating mode; a Reservation reserves what the pods use that it
        takes over.
        """
        pods = [
            tasks[TaskId(each.details["uid"])]
            for each in bind.preparations
            if each.kind == ANNOTATE_POD and each.details["key"] == ALLOCATED and each.details["uid"] in tasks
        ]
        if pods:
            return sum_of(pod.template.request for pod in pods)
        text = bind.annotations.get(ALLOCATED)
        operating = self._operating.get(TaskId(noted_uid(text))) if text and self._operating else None
        return NO_AMOUNTS if operating is None else operating.template.request

    def usable_by(self, pod: wire.Pod) -> tuple[str, ...]:
        """Return the UIDs of the Reservations whose owners a pod matches, ascending; none for a pod on a node."""
        own = self._objects.get(TaskId(pod.metadata.uid))
        if own is not None:  # which pods it may take over depends on the Reservation, so it has a template of its own
            return (own.metadata.uid,) if own.spec.pre_allocation and not pod.spec.node_name else ()
        if not self._rules or pod.spec.node_name:
            return ()
        return tuple(self._offers.of(pod))

    def note_offer(self, task: TaskId) -> None:
        """Note that other pods than before may use a Reservation."""
        self._other_offers.add(task)

    def rematch(self, tasks: Iterable[Task]) -> list[TaskId]:
        """Return the waiting tasks that may use other Reservations than when they were translated.

        Only the Reservations that have changed since the last call are compared, so a list of many costs one pass.
        """
        changed, self._other_offers = self._other_offers, set()
        if not changed:
            return []
        offers = ReservationOffers({task: self._rules[task] for task in changed if task in self._rules})
        waiting = (task for task in tasks if task.status is TaskStatus.PENDING and task.id not in self._objects)
        return [
            task.id
            for task in waiting
            if offers.of(task.pod) != [each for each in task.template.reservations if each in changed]
        ]

    def exchange(self, old: Task | None, new: Task | None) -> None:
        """Note a task in the place of an older state of it; None stands for its absence."""
        before, after = _used_by(old), _used_by(new)
        if old is not None and before is not None:
            users = self._users.get(before, {})
            users.pop(old.id, None)
            if not users:
                self._users.pop(before, None)
        if new is not None and after is not None:
            self._users.setdefault(after, {})[new.id] = new
        if before is not None or after is not None:
            self._shown = None
        self._exchange_operating(old, new)

    def _exchange_operating(self, old: Task | None, new: Task | None) -> None:
        either = new or old
        assert either is not None, "a task comes, goes or changes"
        try:
            if not self._operating_pods.exchange(old, new):
                return
        except ValueError as error:
            self._report(ObjectError("Pod", either.key, "metadata.annotations", str(error)))
        self._shown = None
        known = self._counted.pop(either.namespace, {})
        counted: dict[TaskId, wire.Reservation] = {}
        for operating, reservation in self._operating_pods.counted(either.namespace):
            counted[operating.id] = reservation
            self._operating[operating.id] = operating
            if known.pop(operating.id, None) is not reservation:
                self._set_rules(operating.id, reservation)
                self.note_offer(operating.id)
        for task in known:
            del self._operating[task]
            self._drop_rules(task)
            self.note_offer(task)
        if counted:
            self._counted[either.namespace] = counted
        if new is not None and new.id not in counted and is_operating(new):
            fault = f"more than {MOST_OWNERS_OF_NAMESPACE} owners of pods in operating mode in the namespace"
            self._report(ObjectError("Pod", new.key, "metadata.labels", f"{fault}; this pod offers nothing"))

    def shown(self, fold: Callable[[Amounts], Amounts]) -> Mapping[TaskId, ReservedCapacity]:
        """Return the capacity of the Reservations that are Available, in the order of their names."""
        if self._shown is None:
            known = sorted(self._rules.items(), key=lambda each: (each[1].name, each[0]))
            self._shown = SealedDict((task, self._capacity(task, rules, fold)) for task, rules in known)
        return self._shown

    def forget_amounts(self) -> None:
        """Compute the capacity again: names of resources have changed."""
        self._shown = None

    def _capacity(self, task: TaskId, rules: ReservationRules, fold: Callable[[Amounts], Amounts]) -> ReservedCapacity:
        users = [
            user
            for _, user in sorted(self._users.get(task, {}).items())
            if user.node == rules.node and rules.owners.match(user.pod)
        ]
        reserved = fold(rules.allocatable)
        return ReservedCapacity(
            id=task,
            rules=rules,
            amounts=reserved,
            users=SealedDict((user.id, counted_for(user.template.request, reserved)) for user in users),
            counted=self._operating[task].template.request if task in self._operating else NO_AMOUNTS,
            leaving=frozenset(user.id for user in users if user.status is TaskStatus.RELEASING),
        )


def _used_by(task: Task | None) -> TaskId | None:
    """Return the UID of the Reservation that a pod on a node names; None if it names none, or has finished (R28)."""
    if task is None or task.node is None or task.status in _FINISHED:
        return None
    uid = allocated_uid(task.pod)
    return TaskId(uid) if uid else None
