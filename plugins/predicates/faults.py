"""Faults: why a task can go nowhere, found before nodes are looked at."""

from collections.abc import Callable
from typing import Final

from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["PredicateFaults"]

Fault = Callable[[Task], str]
"""Says in words why a task can go nowhere; empty where it can."""

_NODE_AFFINITY: Final = "NodeAffinity"


class PredicateFaults:
    """What filters say of a task as a whole: node affinity once per template, claims only of tasks that have some."""

    def __init__(self, plugin: str) -> None:
        self._plugin = plugin
        self._of_template: Fault | None = None
        self._by_template: dict[int, str] = {}
        self._of_claims: list[tuple[str, Fault]] = []

    def of_template(self, fault: Fault) -> None:
        """Ask about node affinity; what is said must depend on the template alone."""
        self._of_template = fault

    def of_claims(self, filter_name: str, fault: Fault) -> None:
        """Ask about claims for volumes or devices, after those that were named before."""
        self._of_claims.append((filter_name, fault))

    def refuse(self, task: Task) -> Refusal | None:
        """Refuse a task that can go nowhere, by the first filter that says so."""
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
