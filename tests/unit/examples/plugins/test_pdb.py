"""The example of docs/plugins/pdb.md."""

from pyroclast.model import wire
from pyroclast.plugins.pdb import budgets_by_namespace, within_budgets
from tests.unit.examples.page import assert_tells, listed
from tests.unit.plugins.policies import node, opened, pod

PODS = ("job-1-0", "job-1-1")
JOB = {"app": "job-1"}


def budget(name: str, allowed: int, labels: dict[str, str]) -> wire.PodDisruptionBudget:
    """A budget for the pods with these labels."""
    return wire.PodDisruptionBudget(
        metadata=wire.ObjectMeta(name=name, namespace="ns", uid=name),
        spec=wire.PodDisruptionBudgetSpec(selector=wire.LabelSelector(match_labels=labels)),
        status=wire.PodDisruptionBudgetStatus(disruptions_allowed=allowed),
    )


def left(*budgets: wire.PodDisruptionBudget) -> str:
    """Which of two pods may go; the first is under a second budget too, where there is one."""
    first, second = pod(PODS[0], on="n", labels={**JOB, "part": "first"}), pod(PODS[1], on="n", labels=JOB)
    candidates = opened(node("n"), first, second).tasks(*PODS)
    permitted = [task.name for task in within_budgets(candidates, budgets_by_namespace(budgets))]
    return {0: "none", len(PODS): "both"}.get(len(permitted)) or listed(permitted)


def test_the_page() -> None:
    """No budget, one that allows none, one that allows one, and two."""
    both = ", ".join(f"`{name}`" for name in PODS)
    two = left(budget("A", 1, JOB), budget("B", 0, {"part": "first"}))
    assert_tells(
        "plugins/pdb",
        f"| {both} | none | {left()} |",
        *(f"| {both} | one, allows {allowed} | {left(budget('A', allowed, JOB))} |" for allowed in (0, 1)),
        f"| a pod under A and B, then one under A alone | A allows 1, B allows 0 | {two}: the first has used up A |",
    )
