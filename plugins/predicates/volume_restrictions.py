"""Volume restrictions: one pod at a time uses a claim whose only access mode is ReadWriteOncePod."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger
from pyroclast.framework.session.pending_changes import EarlyChanges
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import ReasonArray
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.tasks import Task
from pyroclast.plugins.predicates.claims import named_claims

__all__ = ["REASONS", "VolumeRestrictions"]

REASONS: Final = (
    Reason("node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"),
)

_ONE_POD: Final = ("ReadWriteOncePod",)


class VolumeRestrictions(Ledger):
    """Users of claims for one pod, updated as a ledger of the session and built at the first use.

    A claim in use refuses every node, since another node cannot attach its volume either. A pod that is terminating
    still uses it.
    """

    def __init__(self, session: Session) -> None:
        self._table = session.nodes.table
        self._objects = session.snapshot.objects
        self._early = EarlyChanges()
        self._users: Counter[str] = Counter()
        """Number of pods on nodes by claim, `namespace/name`."""

    def cares(self, task: Task) -> bool:
        """Return whether a task uses a claim for one pod."""
        return bool(task.pod.spec.volumes) and any(self._claims(task))

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse all nodes while another pod uses a claim of the task, shape (columns,); None otherwise."""
        if not self._early.is_built:
            self._build()
        if not any(self._users[claim] for claim in self._claims(task)):
            return None
        return np.ones(len(columns.index), dtype=np.uint8)

    def _claims(self, task: Task) -> Iterator[str]:
        for named in named_claims(task.pod):
            key = f"{task.namespace}/{named.name}"
            claim = self._objects.volume_claims.get(key)
            if claim is not None and tuple(claim.spec.access_modes) == _ONE_POD:
                yield key

    # Ledger -----------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        for tasks in self._table.tasks:
            for task in tasks.values():
                self._shift(task, 1)
        for change, sign in self._early.build():
            self._follow(change, sign)

    def _shift(self, task: Task, sign: int) -> None:
        for claim in self._claims(task) if task.pod.spec.volumes else ():
            self._users[claim] += sign

    def apply(self, change: Change) -> Refusal | None:
        """Count the claims of placed and evicted tasks; never refuse."""
        if not self._early.keep(change, change.sign):
            self._follow(change, change.sign)
        return None

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        if not self._early.keep(change, -change.sign):
            self._follow(change, -change.sign)

    def _follow(self, change: Change, sign: int) -> None:
        for task in change.tasks:
            self._shift(task, sign)
