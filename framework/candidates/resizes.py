"""Resizes: amounts that pods count as on a node, beyond their requests.

Plugins say what a pod counts as when its node is chosen (Koordinator's ResizePod). The task gets a template with these
amounts as it is placed, so that node, queue, quota and ledgers count them, and undoing the placement takes them back.
The bind writes them into an annotation, by which the cache counts the pod from then on.

A pod can count as more than it requests, not as less, because the kubelet admits pods by their requests.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from pyroclast.framework.candidates.reserved import SessionReservations
from pyroclast.framework.candidates.views import ViewPredicate
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Verb
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.state.nodes import NodeColumns, SessionNodes
from pyroclast.model.arrays import ReasonArray
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.resources import Amounts
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import Task, TaskTemplate, new_template_number
from pyroclast.model.texts import shortened

__all__ = ["SessionResizes"]

_PLUGIN = "scheduler"


class NotPermittedError(Exception):
    """A plugin resizes pods although the cache would not count them so."""

    def __str__(self) -> str:
        """Return the message."""
        return "it resizes pods, which has no effect: the feature gate ResizePod is off"


class SessionResizes:
    """What the tasks of one session count as."""

    def __init__(
        self, extensions: Extensions, nodes: SessionNodes, reserved: SessionReservations, *, is_permitted: bool
    ) -> None:
        self._extensions, self._nodes, self._reserved = extensions, nodes, reserved
        self._is_permitted = is_permitted
        self._templates: dict[tuple[int, tuple[tuple[str, int], ...]], TaskTemplate] = {}

    @property
    def is_active(self) -> bool:
        """Whether any function may resize pods. A plugin that resizes pods without permission has failed."""
        functions = self._extensions.functions(contract.RESIZE_POD)
        if functions and not self._is_permitted:
            for each in functions:
                self._extensions.note_failure(each.plugin, NotPermittedError())
            return False
        return bool(functions)

    def concerns(self, task: Task) -> bool:
        """Return whether a task may be resized: not one that requests nothing, and none of a Reservation."""
        if task.template.best_effort or self._reserved.stands_for_one(task):
            return False
        return not (self._reserved and self._reserved.use_of(task).usable)

    def template_on(self, task: Task, column: int) -> TaskTemplate | Refusal:
        """Return the template of a task on a node; a refusal if a plugin fails."""
        template = task.template
        if not self.concerns(task):
            return template
        amounts = dict(template.request)
        for each in self._extensions.functions(contract.RESIZE_POD):
            try:
                answer: Amounts = each.function(task, column) or {}
            except Exception as error:  # noqa: BLE001  # whatever a plugin raises is its refusal
                return self._extensions.note_failure(each.plugin, error)
            for name, amount in answer.items():
                amounts[name] = max(amounts.get(name, 0), amount)
        return template if amounts == template.request else self._resized(template, amounts)

    def _resized(self, template: TaskTemplate, amounts: Amounts) -> TaskTemplate:
        key = template.number, tuple(sorted(amounts.items()))
        known = self._templates.get(key)
        if known is None:
            known = self._templates[key] = msgspec.structs.replace(
                template, number=new_template_number(), request=SealedDict(amounts)
            )
        return known

    def refusal(self, template: TaskTemplate, column: int, verb: Verb) -> Refusal | None:
        """Return why a node has no room for what a task counts as; None if it has."""
        rows = self._nodes.resources.rows
        lacking = next((name for name, amount in template.request.items() if amount and name not in rows), None)
        if lacking is not None:
            return _too_large(lacking)  # no node offers it, so that no array has its amounts
        room = self._nodes.future_idle_on(column)
        if verb is Verb.ALLOCATE:
            room = np.minimum(room, self._nodes.one(column).idle[:, 0])
        short = np.flatnonzero(self._nodes.needs(template).thresholds[:, 0] > room)
        if not short.size:
            return None
        return _too_large(self._nodes.resources.names[int(short[0])])

    def predicates(self) -> tuple[ViewPredicate, ...]:
        """The predicate that nodes have room for what tasks count as, where plugins resize pods."""
        if not self.is_active:
            return ()
        reasons: Sequence[Reason] = (Reason("Insufficient resources for what the pod counts as"),)
        return (ViewPredicate(plugin=_PLUGIN, function=self._verdicts, locality=Locality.NODE, reasons=tuple(reasons)),)

    def _verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        if not self.concerns(task):
            return None
        verdicts, is_resized = np.zeros(len(columns), dtype=np.uint8), False
        for position, column in enumerate(columns.index.tolist()):
            template = self.template_on(task, column)
            if isinstance(template, Refusal):
                verdicts[position] = is_resized = True
            elif template is not task.template:
                is_resized = True
                verdicts[position] = self.refusal(template, column, Verb.PIPELINE) is not None
        return verdicts if is_resized else None


def _too_large(resource: str) -> Refusal:
    message = f"Insufficient {shortened(resource)} for what the pod counts as"
    return Refusal(plugin=_PLUGIN, reason="ResizedPodTooLarge", message=message)
