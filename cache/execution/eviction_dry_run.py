"""Eviction dry run: checks whether all victims of a plan can be evicted, before the first one is evicted.

A plan evicts several pods for one beneficiary. If the API server refused one eviction, the others would be useless, and
a gang could be evicted in part. The check therefore counts the disruption budgets of the cluster state, and sends one
dry run per pod. See docs/decisions/0022-evictions-rehearsed.md.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from pyroclast.cache.state import ClusterState
from pyroclast.kube.writes.evictor import BUDGET, EvictionOutcome, Evictor
from pyroclast.model import wire
from pyroclast.model.matching.selectors import Selector
from pyroclast.model.plan import Eviction, Plan

__all__ = ["blocked_evictions", "outcomes_of"]


async def blocked_evictions(plan: Plan, state: ClusterState, evictor: Evictor) -> list[EvictionOutcome]:
    """Return the refused dry runs of a plan; empty if all victims can be evicted.

    A plan with one eviction is not checked. Without a beneficiary only the evictions of a whole gang depend on each
    other.
    """
    if len(plan.evictions) < 2 or not (plan.nominations or plan.binds or plan.together is True):
        return []
    blocked = list(_beyond_budgets(plan, state)) if evictor.heeds_budgets else []
    if blocked:
        return blocked
    outcomes = await outcomes_of(evictor.rehearse, plan.evictions)
    return [outcome for outcome in outcomes if not outcome.is_leaving]


async def outcomes_of(
    request: Callable[[Eviction], Awaitable[EvictionOutcome]], evictions: Sequence[Eviction]
) -> list[EvictionOutcome]:
    """Send evictions or dry runs concurrently. A request that raises has the outcome of a refused one."""
    outcomes = await asyncio.gather(*map(request, evictions), return_exceptions=True)
    return [
        EvictionOutcome(
            eviction=eviction, is_leaving=False, reason="Failed", message=f"{type(outcome).__name__}: {outcome}"
        )
        if isinstance(outcome, BaseException)
        else outcome
        for eviction, outcome in zip(evictions, outcomes, strict=True)
    ]


def _beyond_budgets(plan: Plan, state: ClusterState) -> Iterator[EvictionOutcome]:
    """Yield the victims that a budget protects once the victims before them are evicted.

    A dry run does not reduce the disruptions that a budget allows, so it cannot find them.
    """
    spent: Counter[str] = Counter()
    pods, budgets = state.stored("Pod"), _by_namespace(state)
    for eviction in plan.evictions:
        pod = pods.get(eviction.task)
        if pod is None or not _is_counted(pod):
            continue
        covering = [
            budget for selector, budget in budgets.get(eviction.namespace, ()) if selector.matches(pod.metadata.labels)
        ]
        spent.update(budget.metadata.key for budget in covering)
        message = _budget_violation(covering, spent)
        if message:
            yield EvictionOutcome(eviction=eviction, is_leaving=False, reason=BUDGET, message=message)


def _budget_violation(covering: Sequence[wire.PodDisruptionBudget], spent: Mapping[str, int]) -> str:
    """Return why budgets protect a pod, counting the victims so far; empty if they do not."""
    if len(covering) > 1:
        names = ", ".join(sorted(budget.metadata.name for budget in covering))
        return f"several disruption budgets select the pod ({names}), and the API server refuses to evict such pods"
    for budget in covering:
        allowed = budget.status.disruptions_allowed
        if spent[budget.metadata.key] > allowed:
            return f"the disruption budget {budget.metadata.name} allows {allowed} evictions, the plan needs more"
    return ""


def _by_namespace(state: ClusterState) -> dict[str, list[tuple[Selector, wire.PodDisruptionBudget]]]:
    found: dict[str, list[tuple[Selector, wire.PodDisruptionBudget]]] = {}
    for budget in state.stored("PodDisruptionBudget").values():
        found.setdefault(budget.metadata.namespace, []).append((Selector.of(budget.spec.selector), budget))
    return found


def _is_counted(pod: wire.Pod) -> bool:
    """Return whether the eviction of a pod surely counts against its budgets: the pod runs and is ready."""
    is_ready = any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)
    return pod.status.phase == "Running" and is_ready and not pod.metadata.deletion_timestamp
