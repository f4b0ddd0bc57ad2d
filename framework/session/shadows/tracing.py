"""Tracing: examinations of chosen tasks at the moments when a cycle places or refuses them.

A cycle with tracing asks plugins more questions than one without. Therefore the cycle that decides has none: the same
cycle is decided once more for the examinations, and its plans are dropped.
"""

from collections.abc import Callable
from typing import Final

from pyroclast.framework.candidates.candidate_nodes import CandidateNodes
from pyroclast.framework.candidates.examining import examine
from pyroclast.framework.candidates.node_answers import NodeAnswers
from pyroclast.framework.candidates.reserved import SessionReservations
from pyroclast.framework.candidates.resizes import SessionResizes
from pyroclast.framework.extension.contract import Verb
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.session.statements.statement import Commit, Operation, Statement
from pyroclast.framework.state.nodes import SessionNodes
from pyroclast.model.arrays import BoolArray
from pyroclast.model.examination import Examination
from pyroclast.model.ids import TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["MOST_NODES", "MOST_TASKS", "TracedNodes", "TracedStatement", "Tracing"]

MOST_TASKS: Final = 100
"""Maximum number of tasks that one cycle examines; further ones are left out."""
MOST_NODES: Final = 1000
"""Maximum number of nodes in a table of scores, and of names for each rule that refuses nodes."""


class Tracing:
    """Examinations of one cycle."""

    def __init__(self, chooses: Callable[[Task], bool], *, node_limit: int) -> None:
        """Examine the tasks that a function chooses, with at most so many nodes in each table."""
        self._chooses = chooses
        self.node_limit = min(node_limit, MOST_NODES)
        self.placed: dict[TaskId, Examination] = {}
        """The last placement of each task, by task; it may have been given back."""
        self.others: dict[TaskId, Examination] = {}
        """The last refusal of each task by nodes, or its examination at the end of the cycle."""
        self.profile = ""
        """Name of the profile that decides."""
        self.cycle = 0
        self.action: Callable[[], str] = str
        """Returns the action that runs."""

    def concerns(self, task: Task) -> bool:
        """Return whether a task is examined."""
        if not self._chooses(task):
            return False
        known = self.placed.keys() | self.others.keys()
        return task.id in known or len(known) < MOST_TASKS

    def examinations(self) -> tuple[Examination, ...]:
        """Return the last examination of each task, by the names of the pods."""
        return tuple(sorted((self.others | self.placed).values(), key=lambda each: (each.pod, each.task)))

    def examination(self, nodes: CandidateNodes, task: Task, *, moment: str, chosen: int | None = None) -> Examination:
        """Examine a task at this moment."""
        refusal = nodes.pre_predicate(task)
        answers = nodes.answers
        found = examine(answers, nodes.of(task), task, chosen=chosen, refusal=refusal, limit=self.node_limit)
        return Examination(
            task=task.id,
            pod=task.key,
            job=task.job,
            profile=self.profile,
            cycle=self.cycle,
            moment=moment,
            action=self.action(),
            node=None if chosen is None else answers.nodes.table.names[chosen],
            node_count=len(answers.nodes),
            candidate_count=found.candidate_count,
            columns=found.columns,
            scores=found.scores,
            refusals=found.refusals,
            not_asked=found.not_asked,
        )


class TracedNodes(CandidateNodes):
    """Candidate nodes of a session with tracing."""

    def __init__(self, answers: NodeAnswers, tracing: Tracing) -> None:
        super().__init__(answers)
        self._tracing = tracing

    def explain(self, task: Task, domain: BoolArray | None = None) -> Refusal:
        """Return why no node takes a task, and examine it."""
        refusal = super().explain(task, domain)
        if self._tracing.concerns(task):
            self._tracing.others[task.id] = self._tracing.examination(self, task, moment="refused")
        return refusal


class TracedStatement(Statement):
    """A statement that examines tasks before it places them."""

    __slots__ = ("_candidates", "_tracing")

    def __init__(
        self,
        nodes: SessionNodes,
        extensions: Extensions,
        reserved: SessionReservations,
        resizes: SessionResizes,
        commit: Commit,
        *,
        candidates: CandidateNodes,
        tracing: Tracing,
    ) -> None:
        super().__init__(nodes, extensions, reserved, resizes, commit)
        self._candidates, self._tracing = candidates, tracing

    def _do(self, operation: Operation) -> Refusal | None:
        if operation.change.verb is not Verb.EVICT:
            self._examine(operation)
        return super()._do(operation)

    def _examine(self, operation: Operation) -> None:
        """Examine each task as it is placed after those before it."""
        change, tasks = operation.change, operation.before
        for number, (task, column) in enumerate(zip(tasks, change.columns, strict=True)):
            if not self._tracing.concerns(task):
                continue
            moment = "placed" if change.verb is Verb.ALLOCATE else "pipelined"
            with Statement(
                self._nodes, self._extensions, self._reserved, self._resizes, self._commit, is_trial=True
            ) as earlier:
                if number:
                    earlier.place_again(operation, number)
                examination = self._tracing.examination(self._candidates, task, moment=moment, chosen=int(column))
            self._tracing.placed[task.id] = examination
