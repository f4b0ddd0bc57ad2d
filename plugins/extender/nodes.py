"""Verbs about nodes: predicates and scores."""

from collections.abc import Mapping, Sequence
from typing import Final

from pyroclast.framework.state.nodes import NodeView
from pyroclast.model.ids import NodeName
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.tasks import Task
from pyroclast.model.texts import shortened
from pyroclast.plugins.extender.arguments import ExtenderArgs
from pyroclast.plugins.extender.bodies import Bodies
from pyroclast.plugins.extender.replies import Predicates, Scores, Verdict
from pyroclast.plugins.extender.requests import Asking, ExtenderError

__all__ = ["NodeVerbs"]

_UNSCHEDULABLE: Final = 2
"""The only code of a refusal that evictions may resolve. Others are errors, or permanent."""


class NodeVerbs:
    """The verbs about nodes."""

    def __init__(self, asking: Asking, bodies: Bodies, args: ExtenderArgs, name: str) -> None:
        self._asking, self._bodies, self._args, self._name = asking, bodies, args, name

    def permits(self, task: Task, node: NodeView) -> Reason | None:
        """Return why a node may not run a task; None if it may."""
        if not self._args.is_concerned(task):
            return None
        if self._args.batch_predicate_verb:
            return self.permits_many(task, [node])[0]
        body = {"task": self._bodies.task(task), "node": self._bodies.node(node)}
        return _reason(self._asking.ask(self._args.predicate_verb, body, Verdict, Verdict()))

    def permits_many(self, task: Task, nodes: Sequence[NodeView]) -> list[Reason | None]:
        """Return the same for many nodes with one call. Verdicts about other nodes are ignored."""
        if not self._args.is_concerned(task):
            return [None] * len(nodes)
        body = {"task": self._bodies.task(task), "nodes": [self._bodies.node(node) for node in nodes]}
        reply = self._asking.ask(self._args.batch_predicate_verb, body, Predicates, Predicates())
        if reply.error_message:
            return [Reason(shortened(reply.error_message), resolvable=False)] * len(nodes)
        verdicts = reply.verdicts or {}
        self._asking.complain(
            self._args.batch_predicate_verb, "nodes that were not asked about", verdicts.keys() - _names(nodes)
        )
        return [_reason(verdicts.get(node.name) or Verdict()) for node in nodes]

    def scores(self, task: Task, nodes: Sequence[NodeView]) -> Mapping[NodeName, float] | Refusal:
        """Return the scores of all candidates, or a refusal without scores: then no node may be chosen."""
        if not self._args.is_concerned(task):
            return {}
        body = {"task": self._bodies.task(task), "nodes": [self._bodies.node(node) for node in nodes]}
        try:
            reply = self._asking.ask(self._args.prioritize_verb, body, Scores, Scores(node_score={}))
        except ExtenderError as error:
            return self._unscored(str(error))
        if reply.error_message or reply.node_score is None:
            return self._unscored(reply.error_message or f"{self._name} gave no scores")
        self._asking.complain(
            self._args.prioritize_verb, "nodes that were not asked about", reply.node_score.keys() - _names(nodes)
        )
        return {NodeName(name): score for name, score in reply.node_score.items()}

    def _unscored(self, message: str) -> Refusal:
        return Refusal(plugin=self._name, reason="NotScored", message=f"nodes cannot be compared: {shortened(message)}")


def _names(nodes: Sequence[NodeView]) -> set[str]:
    return {node.name for node in nodes}


def _reason(verdict: Verdict) -> Reason | None:
    return Reason(shortened(verdict.status), resolvable=verdict.code == _UNSCHEDULABLE) if verdict.status else None
