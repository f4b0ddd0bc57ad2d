"""Volume restrictions: one pod at a time uses a claim whose only access mode is ReadWriteOncePod."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from pyroclast.framework.session.session import Session
from pyroclast.framework.session.usage import UsageLedger
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import ReasonArray
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task
from pyroclast.plugins.predicates.claims import named_claims

__all__ = ["REASONS", "VolumeRestrictions"]

REASONS: Final = (
    Reason("node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"),
)

_ONE_POD: Final = ("ReadWriteOncePod",)


class VolumeRestrictions(UsageLedger):
    """Users of claims for one pod.

    A claim in use refuses every node, since another node cannot attach its volume either. A pod that is terminating
    still uses it.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._objects = session.snapshot.objects
        self._users: Counter[str] = Counter()
        """Number of pods on nodes by claim, `namespace/name`."""

    def cares(self, task: Task) -> bool:
        """Return whether a task uses a claim for one pod."""
        return bool(task.pod.spec.volumes) and any(self._claims(task))

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse all nodes while another pod uses a claim of the task, shape (columns,); None otherwise."""
        self.count()
        if not any(self._users[claim] for claim in self._claims(task)):
            return None
        return np.ones(len(columns.index), dtype=np.uint8)

    def _claims(self, task: Task) -> Iterator[str]:
        for named in named_claims(task.pod):
            key = f"{task.namespace}/{named.name}"
            claim = self._objects.volume_claims.get(key)
            if claim is not None and tuple(claim.spec.access_modes) == _ONE_POD:
                yield key

    def shift(self, task: Task, column: int, sign: int) -> None:  # noqa: ARG002  # claims are used in the whole cluster
        """Count the claims of a task."""
        for claim in self._claims(task) if task.pod.spec.volumes else ():
            self._users[claim] += sign
