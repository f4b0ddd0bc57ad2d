"""Eviction dry run: checks whether all victims of a plan can be evicted, before the first one is.

A plan evicts several pods for one beneficiary. Were one of them kept by the server, the others would have gone for
nothing, and a gang that goes whole would be left in part. So what the books know of disruption budgets is counted, and
the server is asked about each pod by a dry run. See docs/decisions/0022-evictions-rehearsed.md.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from pyroclast.cache.state import ClusterState
from pyroclast.kube.evictor import BUDGET, EvictionOutcome, Evictor
from pyroclast.model import wire
from pyroclast.model.matching.selectors import Selector
from pyroclast.model.plan import Eviction, Plan

__all__ = ["asked_of_all", "objections"]


async def objections(plan: Plan, state: ClusterState, evictor: Evictor) -> list[EvictionOutcome]:
    """Return whom the server would keep of the victims of a plan; empty where all can go, or nothing hangs on that.

    Without a beneficiary each eviction is worth something by itself, and one alone is refused or not.
    """
    if len(plan.evictions) < 2 or not (plan.nominations or plan.binds):
        return []
    kept = list(_beyond_budgets(plan, state)) if evictor.heeds_budgets else []
    if kept:
        return kept
    outcomes = await asked_of_all(evictor.rehearse, plan.evictions)
    return [outcome for outcome in outcomes if not outcome.is_leaving]


async def asked_of_all(
    ask: Callable[[Eviction], Awaitable[EvictionOutcome]], evictions: Sequence[Eviction]
) -> list[EvictionOutcome]:
    """Evict, or rehearse, side by side; one that raises is an outcome like a refusal, and the others count."""
    outcomes = await asyncio.gather(*map(ask, evictions), return_exceptions=True)
    return [
        EvictionOutcome(
            eviction=eviction, is_leaving=False, reason="Failed", message=f"{type(outcome).__name__}: {outcome}"
        )
        if isinstance(outcome, BaseException)
        else outcome
        for eviction, outcome in zip(evictions, outcomes, strict=True)
    ]


def _beyond_budgets(plan: Plan, state: ClusterState) -> Iterator[EvictionOutcome]:
    """Yield the victims that a budget would keep when those before them have gone: a dry run spends nothing."""
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
        message = _objection(covering, spent)
        if message:
            yield EvictionOutcome(eviction=eviction, is_leaving=False, reason=BUDGET, message=message)


def _objection(covering: Sequence[wire.PodDisruptionBudget], spent: Mapping[str, int]) -> str:
    """Say why budgets keep a pod, itself and those before it counted as gone; empty where they do not."""
    if len(covering) > 1:
        names = ", ".join(sorted(budget.metadata.name for budget in covering))
        return f"several disruption budgets cover it ({names}), and the server evicts no such pod"
    for budget in covering:
        allowed = budget.status.disruptions_allowed
        if spent[budget.metadata.key] > allowed:
            return f"the disruption budget {budget.metadata.name} lets {allowed} of the plan's victims go"
    return ""


def _by_namespace(state: ClusterState) -> dict[str, list[tuple[Selector, wire.PodDisruptionBudget]]]:
    found: dict[str, list[tuple[Selector, wire.PodDisruptionBudget]]] = {}
    for budget in state.stored("PodDisruptionBudget").values():
        found.setdefault(budget.metadata.namespace, []).append((Selector.of(budget.spec.selector), budget))
    return found


def _is_counted(pod: wire.Pod) -> bool:
    """Tell whether a pod's eviction spends something for certain: one that runs and is ready."""
    is_ready = any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)
    return pod.status.phase == "Running" and is_ready and not pod.metadata.deletion_timestamp
