"""Volume binding: a task runs where its volumes can be reached, bound, or created.

Bound claims restrict a task to the nodes that reach their volumes. A claim that waits for its first consumer gets, on
the task's node, an existing volume, or else one that its class creates there. The choice of a placement is reserved for
the rest of the session, and becomes a preparation of the task's binding:

    Preparation(kind="bind-volume", namespace=<of the claim>, name=<of the claim>, details=...)

with the details (all texts)

- `claim-uid`: UID of the claim;
- `volume`: the volume to bind; its `spec.claimRef` is set to the claim; or else
- `selected-node`: the node for the claim's annotation `volume.kubernetes.io/selected-node`, which makes the
  provisioner of the class create a volume there;
- `timeout-seconds`: how long to wait until the claim is bound.

One of `volume` and `selected-node` is there. Two tasks that share a claim both carry its preparation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger, Verb
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray, IntArray, ReasonArray
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Preparation
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.tasks import Task
from pyroclast.plugins.predicates.claims import (
    SELECTED_NODE,
    ClaimState,
    claim_fault,
    claim_state,
    has_claims,
    named_claims,
)
from pyroclast.plugins.predicates.provisioning import provisionable
from pyroclast.plugins.predicates.static_volumes import NO_VOLUME, StaticVolumes, reachable

__all__ = ["REASONS", "ClaimChoice", "VolumeBinding"]

REASONS: Final = (
    Reason("node(s) didn't match PersistentVolume's node affinity", resolvable=False),
    Reason("node(s) didn't find available persistent volumes to bind", resolvable=False),
    Reason("node(s) did not have enough free storage", resolvable=False),
    Reason("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", resolvable=False),
)
_UNREACHABLE, _NO_MATCH, _NO_SPACE, _NO_VOLUME = 1, 2, 3, 4

_UNBOUND_IMMEDIATE: Final = "pod has unbound immediate PersistentVolumeClaims"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimChoice:
    """The choice of a placement for a claim that is not bound yet."""

    claim: wire.PersistentVolumeClaim
    column: int
    """Column of the node."""
    volume: int = NO_VOLUME
    """Number of the existing volume, or `NO_VOLUME` if the class creates one."""


class VolumeBinding(Ledger):
    """Claims of tasks, and the choices of this session, as a ledger that reserves volumes."""

    def __init__(self, session: Session, plugin: str, *, timeout_seconds: int) -> None:
        self._plugin = plugin
        self._timeout_seconds = timeout_seconds
        self._objects = session.snapshot.objects
        self._table = session.nodes.table
        self._facts = session.nodes.facts
        self._volumes = StaticVolumes(self._objects, self._facts)
        self._chosen: dict[str, ClaimChoice] = {}
        """Choices by claim (`namespace/name`)."""
        self._first: dict[str, TaskId] = {}
        """The task whose placement made the choice for a claim."""
        self._choices: dict[TaskId, tuple[ClaimChoice, ...]] = {}

    def cares(self, task: Task) -> bool:
        """Return whether a task has claims."""
        return has_claims(task)

    def fault(self, task: Task) -> str:
        """Return why a task's claims exclude all nodes; empty if they do not."""
        for named in named_claims(task.pod):
            fault = claim_fault(named, task.pod, self._objects)
            if fault:
                return fault
        unbound = [
            claim.metadata.name
            for claim in self._claims(task)
            if claim_state(claim, self._objects) is ClaimState.IMMEDIATE
        ]
        return f"{_UNBOUND_IMMEDIATE}: {', '.join(unbound)}" if unbound else ""

    # Verdicts ---------------------------------------------------------------------------------------------------------

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Evaluate all claims of a task, shape (columns,); None if it has none."""
        claims = list(self._claims(task))
        if not claims:
            return None
        verdicts = self._judge(claims).verdicts
        return verdicts if columns.is_all else verdicts[columns.index]

    def _claims(self, task: Task) -> Iterator[wire.PersistentVolumeClaim]:
        keys = dict.fromkeys(f"{task.namespace}/{named.name}" for named in named_claims(task.pod))
        return (self._objects.volume_claims[key] for key in keys if key in self._objects.volume_claims)

    def _judge(self, claims: Sequence[wire.PersistentVolumeClaim]) -> "_Judgement":
        judgement = _Judgement(len(self._table))
        open_claims: list[wire.PersistentVolumeClaim] = []
        for claim in claims:
            choice = self._chosen.get(claim.metadata.key)
            if claim_state(claim, self._objects) is ClaimState.BOUND:
                self._judge_bound(claim, judgement)
            elif choice is not None and choice.volume != NO_VOLUME:
                judgement.refuse(_unreachable(self._volumes.reach(choice.volume)), _UNREACHABLE)
            else:
                open_claims.append(claim)
        self._judge_open(open_claims, judgement)
        return judgement

    def _judge_bound(self, claim: wire.PersistentVolumeClaim, judgement: "_Judgement") -> None:
        volume = self._objects.volumes.get(claim.spec.volume_name)
        if volume is None:
            judgement.refuse(np.ones(len(self._table), dtype=np.bool_), _NO_VOLUME)
        else:
            judgement.refuse(_unreachable(reachable(self._facts, volume)), _UNREACHABLE)

    def _judge_open(self, claims: Sequence[wire.PersistentVolumeClaim], judgement: "_Judgement") -> None:
        """Choose volumes for claims without a selected node.

        Claims without a volume, or with a selected node, are provisioned.
        """
        selected = {claim.metadata.key: column for claim in claims if (column := self._selected(claim)) is not None}
        for column in selected.values():
            judgement.refuse(np.arange(len(self._table)) != column, _NO_MATCH)
        waiting = [claim for claim in claims if claim.metadata.key not in selected]
        for claim, volumes in zip(waiting, self._volumes.choose(waiting), strict=True):
            judgement.volumes[claim.metadata.key] = volumes
        for claim in (*(each for each in claims if each.metadata.key in selected), *waiting):
            chosen = judgement.volumes.get(claim.metadata.key)
            made = np.ones(len(self._table), dtype=np.bool_) if chosen is None else chosen == NO_VOLUME
            if made.any():
                where = provisionable(claim, self._objects, self._facts)
                judgement.refuse(made & ~where.allowed, _NO_MATCH)
                judgement.refuse(made & ~where.has_space, _NO_SPACE)

    def _selected(self, claim: wire.PersistentVolumeClaim) -> int | None:
        """Return the column of the node for which a claim's volume is provisioned; -1 for an unknown node."""
        choice = self._chosen.get(claim.metadata.key)
        if choice is not None:
            return choice.column
        name = claim.metadata.annotations.get(SELECTED_NODE)
        return None if name is None else self._table.column.get(NodeName(name), -1)

    def offers(self, task: Task) -> list[tuple[wire.PersistentVolumeClaim, IntArray]]:
        """Return the volumes for a task's open claims, shape (N,): bytes, 0 if one must be provisioned."""
        claims = [claim for claim in self._claims(task) if claim_state(claim, self._objects) is ClaimState.WAITING]
        chosen = self._judge(claims).volumes
        return [
            (claim, self._volumes.capacity_bytes(chosen[key]))
            for claim in claims
            if (key := claim.metadata.key) in chosen
        ]

    # Reservations -----------------------------------------------------------------------------------------------------

    def apply(self, change: Change) -> Refusal | None:
        """Reserve volumes for placed tasks. Refuse a task whose claims the node cannot serve any more."""
        if change.verb is Verb.EVICT:
            return None
        for done, (task, column) in enumerate(zip(change.tasks, change.columns, strict=True)):
            if has_claims(task):
                refusal = self._take(task, column)
                if refusal is not None:
                    self._give_back(change.tasks[:done])
                    return refusal
        return None

    def revert(self, change: Change) -> None:
        """Release the volumes."""
        if change.verb is not Verb.EVICT:
            self._give_back(change.tasks)

    def _take(self, task: Task, column: int) -> Refusal | None:
        claims = list(self._claims(task))
        judgement = self._judge(claims)
        verdict = int(judgement.verdicts[column])
        if verdict:
            reason = REASONS[verdict - 1]
            return Refusal(
                plugin=self._plugin, reason="VolumesNotReserved", message=reason.text, resolvable=reason.resolvable
            )
        unbound = [claim for claim in claims if claim_state(claim, self._objects) is not ClaimState.BOUND]
        self._choices[task.id] = tuple(self._choose(claim, column, judgement, task.id) for claim in unbound)
        return None

    def _choose(
        self, claim: wire.PersistentVolumeClaim, column: int, judgement: "_Judgement", task: TaskId
    ) -> ClaimChoice:
        key = claim.metadata.key
        known = self._chosen.get(key)
        if known is None:
            volumes = judgement.volumes.get(key)
            number = NO_VOLUME if volumes is None else int(volumes[column])
            known = self._chosen[key] = ClaimChoice(claim=claim, column=column, volume=number)
            self._first[key] = task
            if number != NO_VOLUME:
                self._volumes.take(number)
        return known

    def _give_back(self, tasks: Sequence[Task]) -> None:
        for task in reversed(tasks):
            for choice in reversed(self._choices.pop(task.id, ())):
                key = choice.claim.metadata.key
                if self._first.get(key) == task.id:
                    del self._first[key], self._chosen[key]
                    if choice.volume != NO_VOLUME:
                        self._volumes.give_back(choice.volume)

    def preparations(self, task: Task, _: int) -> list[Preparation]:
        """Return the preparations of a placed task's binding: one for each claim that is not bound yet."""
        return [self._preparation(choice) for choice in self._choices.get(task.id, ())]

    def _preparation(self, choice: ClaimChoice) -> Preparation:
        if choice.volume == NO_VOLUME:
            target = {"selected-node": str(self._table.names[choice.column])}
        else:
            target = {"volume": self._volumes.names[choice.volume]}
        claim = choice.claim.metadata
        details = {"claim-uid": claim.uid, **target, "timeout-seconds": str(self._timeout_seconds)}
        return Preparation(kind="bind-volume", namespace=claim.namespace, name=claim.name, details=details)


class _Judgement:
    """Evaluation of the claims of one task on each node; N nodes."""

    __slots__ = ("verdicts", "volumes")

    def __init__(self, nodes: int) -> None:
        self.verdicts: ReasonArray = np.zeros(nodes, dtype=np.uint8)
        """Verdicts, shape (N,); the first refusal of a node stays."""
        self.volumes: dict[str, IntArray] = {}
        """Number of the chosen volume on each node, shape (N,), by claim."""

    def refuse(self, mask: BoolArray | None, reason: int) -> None:
        """Refuse the nodes of a mask (none for None), unless they are refused already."""
        if mask is not None:
            self.verdicts[mask & (self.verdicts == 0)] = reason


def _unreachable(reached: BoolArray | None) -> BoolArray | None:
    return None if reached is None else ~reached
