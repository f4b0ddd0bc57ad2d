"""Validation of queues: reports on a queue what admission would have rejected."""

import asyncio
from collections.abc import Iterable
from typing import ClassVar, Final

from pyroclast.controllers.admission.faults import Fault, faults_message
from pyroclast.controllers.admission.lookups import QUEUE_PARENT, StoredQueues, parent_index
from pyroclast.controllers.admission.rules.queue_tree import SharedSums
from pyroclast.controllers.admission.rules.queues import root_faults, standing_faults
from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.invalid_condition import FaultReporter, grace_left
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store, key_of
from pyroclast.kube.api.resources import QUEUES
from pyroclast.model.api import names
from pyroclast.model.api.scheduling import Queue

__all__ = ["QueueValidator"]

_TREE: Final[Key] = ("", names.ROOT_QUEUE)


class QueueValidator(Controller):
    """Validates queues. It has one key, because a fault of one queue may be caused by any other queue."""

    name: ClassVar[str] = "queue-validation"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch queues."""
        self._queues: Store[Queue] = operator.store(QUEUES, {QUEUE_PARENT: parent_index})
        self._faults = FaultReporter(operator, QUEUES)
        self._root: Queue | None = None
        """The root queue as it was first seen."""
        super().__init__(operator, options, watches=[Watch(resource=QUEUES, keys=_tree_of)], workers=1)

    async def reconcile(self, _: Key) -> float | None:
        """Validate all queues. New queues are validated after a grace period."""
        lookups, queues = StoredQueues(self._queues), self._queues.values()
        sums = SharedSums(lookups)
        now, waits = self._operator.clock.wall(), []
        for queue in queues:
            if wait := grace_left(queue.metadata.creation_timestamp, now):
                waits.append(wait)
                continue
            faults = standing_faults(queue, lookups, sums, self._options.max_queue_depth)
            faults += tuple(self._root_faults(queue))
            self._faults.report(queue, faults_message(faults))
            await asyncio.sleep(0)  # a tree of a thousand queues takes a while, and other tasks must run
        self._faults.keep(map(key_of, queues))
        return max(waits, default=None)

    def _root_faults(self, queue: Queue) -> Iterable[Fault]:
        """Find changes of the root queue since it was first seen."""
        if queue.metadata.name != names.ROOT_QUEUE or not self._options.protects_root_queue:
            return ()
        if self._root is None or self._root.metadata.uid != queue.metadata.uid:
            self._root = queue
        return root_faults(self._root, queue)


def _tree_of(old: Queue | None, new: Queue | None) -> Iterable[Key]:
    """Return the key of the tree, unless only the counts in a status changed."""
    return () if old is not None and new is not None and _facts(old) == _facts(new) else (_TREE,)


def _facts(queue: Queue) -> object:
    paths = [queue.metadata.annotations.get(key) for key in (names.HIERARCHY, names.HIERARCHY_WEIGHTS)]
    return queue.metadata.generation, queue.status.state, paths
