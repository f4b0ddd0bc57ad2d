"""Validation of PodGroups: reports on a new PodGroup what admission would have rejected."""

from collections.abc import Iterable
from typing import ClassVar, Final

from pyroclast.controllers.admission.faults import faults_message
from pyroclast.controllers.admission.lookups import QUEUE_PARENT, StoredQueues, parent_index
from pyroclast.controllers.admission.rules.podgroups import faults_of
from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.invalid_condition import INVALID, FaultReporter, grace_left, renewed_conditions
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store, key_of
from pyroclast.controllers.runtime.writer import means_another
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import POD_GROUPS, QUEUES
from pyroclast.model.api.scheduling import PodGroup, PodGroupPhase, Queue

__all__ = ["PodGroupValidator"]

_NEW_OF_QUEUE: Final = "podgroups:new-of-queue"
_NEW: Final = frozenset({"", PodGroupPhase.PENDING})


class PodGroupValidator(Controller):
    """Validates groups until the scheduler admits them. Its keys are groups."""

    name: ClassVar[str] = "podgroup-validation"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch groups and queues."""
        self._groups: Store[PodGroup] = operator.store(POD_GROUPS, {_NEW_OF_QUEUE: _queue_of_new})
        self._queues: Store[Queue] = operator.store(QUEUES, {QUEUE_PARENT: parent_index})
        self._faults = FaultReporter(operator, POD_GROUPS)
        super().__init__(
            operator,
            options,
            watches=[Watch(resource=POD_GROUPS, keys=_own_key), Watch(resource=QUEUES, keys=self._keys_of_queue)],
            workers=options.workers_of("podgroup"),
        )

    async def reconcile(self, key: Key) -> float | None:
        """Report the faults of a group in an event and in a condition.

        Raises:
            ApiError: The server refused.
        """
        group = self._groups.get(*key)
        if group is None or group.metadata.deletion_timestamp:
            self._faults.forget(key)
            return None
        now = self._operator.clock.wall()
        wait = grace_left(group.metadata.creation_timestamp, now)
        if wait:
            return wait
        message = faults_message(faults_of(group, lookups=StoredQueues(self._queues))) if _is_new(group) else ""
        self._faults.report(group, message)
        conditions = renewed_conditions(group.status.conditions, message, now)
        if conditions is not None:
            await self._write(group, {"status": {"conditions": conditions}})
        return None

    async def _write(self, group: PodGroup, change: dict[str, object]) -> None:
        """Write a status, if it has not changed since it was read. Several controllers write the list of conditions."""
        has_subresource = await self._operator.discovery.has(POD_GROUPS, "status")
        subresource = "status" if has_subresource else ""
        try:
            await self._operator.writer.merge(
                POD_GROUPS, group.metadata, change, subresource=subresource, is_of_version=True
            )
        except ApiError as error:
            if not means_another(error):
                raise

    def _keys_of_queue(self, old: Queue | None, new: Queue | None) -> Iterable[Key]:
        """Return the new groups of a queue that was created, deleted, opened or closed."""
        if old is not None and new is not None and old.status.state == new.status.state:
            return ()
        queue = new or old
        return map(key_of, self._groups.by(_NEW_OF_QUEUE, queue.metadata.name)) if queue is not None else ()


def _is_new(group: PodGroup) -> bool:
    return group.status.phase in _NEW


def _queue_of_new(group: PodGroup) -> Iterable[str]:
    return (group.spec.queue,) if _is_new(group) else ()


def _own_key(old: PodGroup | None, new: PodGroup | None) -> Iterable[Key]:
    """Return the key of a group, unless only the counts in its status changed."""
    if old is not None and new is not None and _facts(old) == _facts(new):
        return ()
    return [key_of(group) for group in (new or old,) if group is not None]


def _facts(group: PodGroup) -> object:
    finding = next((condition for condition in group.status.conditions if condition.type == INVALID), None)
    return group.spec, _is_new(group), finding
