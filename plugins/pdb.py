"""Disruption budgets: do not evict pods that a PodDisruptionBudget protects now.

Points: preemptable, reclaimable, unified evictable, movable.  Arguments: `PdbArgs`.  Rules and example:
docs/plugins/pdb.md.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Change, Ledger, Plugin, Verb, Vote
from pyroclast.framework.session.session import Session
from pyroclast.model import wire
from pyroclast.model.matching.selectors import Selector
from pyroclast.model.tasks import Task

__all__ = ["Budget", "Pdb", "PdbArgs", "budgets_by_namespace", "within_budgets"]


NOTHING: Final[Mapping["Budget", int]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PdbArgs:
    """Arguments of pdb, spelled as in the configuration file."""

    everyTier: bool = True  # noqa: N815
    """Whether budgets hold in every tier; otherwise, as in Volcano, only in the tier of the plugin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pdb(Plugin):
    """Keep evictions within disruption budgets."""

    name = "pdb"
    watches_clock = False
    args: PdbArgs = PdbArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        budgets = budgets_by_namespace(session.snapshot.objects.disruption_budgets.values())
        spent = Spent(budgets)

        def spare(_: Any, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
            return within_budgets(candidates, budgets, spent.by_budget), Vote.PERMIT

        def spare_whole(subject: Any, _: Sequence[Task], gang: Sequence[Task]) -> tuple[list[Task], Vote]:
            return spare(subject, gang)

        session.extensions.register_ledger(self.name, spent)
        register, always = session.extensions.register, self.args.everyTier
        register(contract.PREEMPTABLE, self.name, spare, alike=True, together=spare_whole, in_every_tier=always)
        register(contract.RECLAIMABLE, self.name, spare, alike=True, together=spare_whole, in_every_tier=always)
        register(contract.UNIFIED_EVICTABLE, self.name, spare, alike=True, together=spare_whole, in_every_tier=always)
        session.extensions.register(
            contract.MOVABLE, self.name, lambda victims: within_budgets(victims, budgets, spent.by_budget)
        )


class Budget:
    """A PodDisruptionBudget, with a selector that is fast to evaluate."""

    __slots__ = ("allowed", "disrupted", "selector")

    def __init__(self, budget: wire.PodDisruptionBudget) -> None:
        self.selector = Selector.of(budget.spec.selector)
        self.allowed = budget.status.disruptions_allowed
        """Number of pods that may be evicted now."""
        self.disrupted = budget.status.disrupted_pods
        """Pods whose eviction is in progress and already counted in `allowed`."""

    def covers(self, task: Task) -> bool:
        """Return whether the eviction of a pod counts."""
        return self.selector.matches(task.pod.metadata.labels) and task.name not in self.disrupted


class Spent(Ledger):
    """Disruptions by evictions of this session. The ledger refuses none, because other tiers may choose victims too."""

    def __init__(self, budgets: Mapping[str, Sequence[Budget]]) -> None:
        self._budgets = budgets
        self.by_budget: Counter[Budget] = Counter()

    def apply(self, change: Change) -> None:
        """Count evictions."""
        self._count(change, 1)

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        self._count(change, -1)

    def _count(self, change: Change, sign: int) -> None:
        if change.verb is Verb.EVICT:
            for task in change.tasks:
                for budget in covering(task, self._budgets):
                    self.by_budget[budget] += sign


def covering(task: Task, budgets: Mapping[str, Sequence[Budget]]) -> list[Budget]:
    """Return the budgets that the eviction of a pod counts against."""
    return [budget for budget in budgets.get(task.namespace, ()) if budget.covers(task)]


def budgets_by_namespace(budgets: Iterable[wire.PodDisruptionBudget]) -> dict[str, list[Budget]]:
    """Return budgets by namespace. A budget with an empty selector is ignored, as in Kubernetes' scheduler."""
    found: dict[str, list[Budget]] = {}
    for each in budgets:
        budget = Budget(each)
        if budget.selector.requirements:
            found.setdefault(each.metadata.namespace, []).append(budget)
    return found


def within_budgets(
    candidates: Iterable[Task], budgets: Mapping[str, Sequence[Budget]], spent: Mapping[Budget, int] = NOTHING
) -> list[Task]:
    """Return the candidates that may be evicted if all earlier ones are evicted too.

    A candidate counts against each budget that covers it, even if another budget protects it.

    Args:
        candidates: Candidates in the order in which they count.
        budgets: Budgets by namespace.
        spent: Disruptions that count already.
    """
    used = Counter(spent)
    permitted: list[Task] = []
    for task in candidates:
        its_own = covering(task, budgets)
        used.update(its_own)
        if all(used[budget] <= budget.allowed for budget in its_own):
            permitted.append(task)
    return permitted
