"""Faults: reasons why a task can run on no node, found before nodes are filtered."""

from collections.abc import Callable
from typing import Final

from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["PredicateFaults"]

Fault = Callable[[Task], str]
"""Returns why a task can run on no node; empty if there is no such reason."""

_NODE_AFFINITY: Final = "NodeAffinity"


class PredicateFaults:
    """PredicateFaults of tasks by filter: node affinity once per template, claims only for tasks with claims."""

    def __init__(self, plugin: str) -> None:
        self._plugin = plugin
        self._of_template: Fault | None = None
        self._by_template: dict[int, str] = {}
        self._of_claims: list[tuple[str, Fault]] = []

    def of_template(self, fault: Fault) -> None:
        """Set the check of node affinity. Its result must depend only on the template."""
        self._of_template = fault

    def of_claims(self, filter_name: str, fault: Fault) -> None:
        """Add a check of claims for volumes or devices."""
        self._of_claims.append((filter_name, fault))

    def refuse(self, task: Task) -> Refusal | None:
        """Refuse a task that can run on no node, by the first filter with a fault."""
        if self._of_template is not None:
            number = task.template.number
            text = self._by_template.get(number)
            if text is None:
                text = self._by_template[number] = self._of_template(task)
            if text:
                return self._refusal(_NODE_AFFINITY, text)
        for filter_name, fault in self._of_claims if task.pod.spec.volumes or task.pod.spec.resource_claims else ():
            text = fault(task)
            if text:
                return self._refusal(filter_name, text)
        return None

    def _refusal(self, filter_name: str, text: str) -> Refusal:
        message = f"plugin {filter_name} pre-predicates failed {text}"
        return Refusal(plugin=self._plugin, reason=f"{filter_name}Failed", message=message, resolvable=False)
