"""Disruption budgets, pod by pod: what docs/plugins/pdb.md says."""

from typing import Any, ClassVar

from tests.differential.cluster import Pod
from tests.differential.filters import selects
from tests.differential.policy import Policy, Rule


class Pdb(Policy):
    """Pods that can be evicted without breaking a budget."""

    name = "pdb"
    guards: ClassVar[bool] = True
    together: ClassVar[bool] = True

    def rules(self, _point: str) -> Rule | None:
        """For all who ask alike."""
        return lambda _, candidates: self.may_move(candidates)

    def may_move(self, pods: list[Pod]) -> list[Pod]:
        """Those that break no budget, when those before them use up theirs too."""
        budgets = self.cluster.of_kind("PodDisruptionBudget")
        left = [budget["status"]["disruptionsAllowed"] for budget in budgets]
        permitted = []
        for pod in [*self.cluster.evicted, *pods]:
            covering = [number for number, budget in enumerate(budgets) if covers(budget, pod)]
            for number in covering:
                left[number] -= 1
            if all(left[number] >= 0 for number in covering) and pod not in self.cluster.evicted:
                permitted.append(pod)
        return permitted


def covers(budget: Any, pod: Pod) -> bool:
    """Whether the eviction of a pod counts for a budget."""
    selector = budget["spec"].get("selector")
    if not selector or pod.name in budget["status"].get("disruptedPods", {}):
        return False
    return budget["metadata"]["namespace"] == pod.namespace and selects(selector, pod.labels)
