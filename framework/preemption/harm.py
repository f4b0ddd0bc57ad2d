"""Harm: of the plans that place the most tasks of a job, the least harmful one is chosen.

The highest priority among the victims counts first, then the number of whole gangs, then the number of victims. Among
equals the plan counts as less harmful that stops fewer elastic jobs, which run with one pod as with many.
A plan that places fewer tasks only postpones evictions: the job gets the others by a plan of the next cycle.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pyroclast.framework.session.session_values import Scratch, ScratchKey
from pyroclast.model.arrays import BoolArray
from pyroclast.model.ids import TaskId
from pyroclast.model.tasks import Task

__all__ = [
    "ANY_PRIORITY",
    "EFFORT",
    "NO_VICTIM",
    "UNLIMITED",
    "Effort",
    "Found",
    "Harm",
    "HarmLimits",
    "NodeSearch",
    "Unit",
    "effort_of",
    "least_harmful",
]

EFFORT: Final = ScratchKey("effort of searches by namespace")
"""Key of the session's scratch: by namespace an `Effort`, since no tenant may use up the budget of another."""

ANY_PRIORITY: Final = 1 << 62
"""Limit that permits victims of every priority."""
NO_VICTIM: Final = -(1 << 62)
"""The highest priority where nothing is evicted."""
_MOST_SEARCHES: Final = 64
"""Searches with a protected victim for one job."""
_MOST_STOPPED: Final = 8
"""Searches for one job in which a pod of an elastic job is protected."""
_MOST_STEPS: Final = 20_000
"""Steps of searches with a protected victim in one session, for one namespace."""
_MOST_ON_TRIAL: Final = 20_000
"""Tasks that are evicted on trial in one session to find an assignment for unlike tasks of one namespace."""
UNLIMITED: Final = 1 << 62
"""Unlimited number of failed nodes."""

Unit = tuple[Task, ...]
"""Tasks that are evicted together: one, or a whole gang."""


class Harm(NamedTuple):
    """Harm of a plan's victims. The smallest value is the least harmful plan."""

    highest: int
    """The highest priority of a victim."""
    gangs: int
    """Gangs that are evicted whole."""
    victims: int
    stopped: int = 0
    """Elastic jobs that keep no pod, see `victim_gangs.is_stopped`."""

    @classmethod
    def of(cls, units: Sequence[Unit], priority: Callable[[Task], int]) -> "Harm":
        """Return the harm of evicting some units."""
        victims = [task for unit in units for task in unit]
        highest = max(map(priority, victims), default=NO_VICTIM)
        return cls(highest, sum(len(unit) > 1 for unit in units), len(victims))


class NodeSearch:
    """The nodes that a search for one job tries, in the order in which it tries them.

    A search that is cut goes on in another cycle. It then skips the nodes that failed before, and repeats only
    successes. So its result equals that of an uncut search, as far as the cluster is the same.
    """

    __slots__ = ("_left", "_most_now", "_now", "_passed", "_passing", "is_stopped", "runs")

    def __init__(self, passed: Sequence[int] = (), *, most: int = UNLIMITED, most_now: int = UNLIMITED) -> None:
        self._passed = iter(passed)
        self._passing = next(self._passed, 0)
        """Nodes to be passed over before the next one that was a success."""
        self._most_now = most_now
        self._now = 0
        """Nodes tried in this cycle that led nowhere at once."""
        self._left = most
        """Number of such nodes left, in all cycles."""
        self.is_stopped = False
        """Whether a node was not tried that would have come next."""
        self.runs: list[int] = [0]
        """Numbers of failed nodes between two successes."""

    @property
    def is_cut(self) -> bool:
        """Whether it was stopped for this cycle alone."""
        return self.is_stopped and self._left > 0

    def may_try(self) -> bool:
        """Return whether another node may be tried; else the search is stopped."""
        self.is_stopped = self.is_stopped or self._now >= self._most_now or self._left <= 0
        return not self.is_stopped

    def goes_on(self) -> None:
        """Make the search uncuttable: a plan was found, and less harmful ones may exist."""
        self._most_now = UNLIMITED
        self.is_stopped = self._left <= 0

    def passes_over(self) -> bool:
        """Return whether the next node failed in an earlier cycle."""
        if not self._passing:
            return False
        self._passing -= 1
        self.runs[-1] += 1
        self._left -= 1
        return True

    def note_in_vain(self) -> None:
        """Count the next node, which failed."""
        self.runs[-1] += 1
        self._now += 1
        self._left -= 1

    def note_success(self, *, is_kept: bool) -> None:
        """Note that the next node was a success. A success that others are compared with costs as much as a failure."""
        self._now += not is_kept
        self._left -= not is_kept
        self.runs.append(0)
        self._passing = next(self._passed, 0)


@dataclass(slots=True)
class Effort:
    """Cost of the searches for one namespace in a session.

    A step is a node that is tried, a task that is evicted on trial, twenty tasks that plugins are asked about, or a
    thousand that a bound adds up.
    """

    steps: int = 0
    """Steps of all searches so far."""
    left: int = _MOST_STEPS
    """Steps that are left for searches with a protected victim; those that find the first plans need none of them."""
    on_trial: int = _MOST_ON_TRIAL
    """Evictions on trial that are left for searches for an assignment."""
    cut_short: int = 0
    """Plans that were taken before each of their victims had been protected: less harmful ones may exist."""
    in_vain: int = 0
    """Nodes that were tried, and led nowhere at once."""
    search: NodeSearch = field(default_factory=NodeSearch)
    """The search for the job at hand."""

    def begin(self, passed: Sequence[int], *, most: int, most_now: int) -> NodeSearch:
        """Begin the search for another job.

        Args:
            passed: Progress of earlier cycles, see `NodeSearch.runs`.
            most: Failed nodes, including those of earlier cycles, after which the search gives up.
            most_now: Failed nodes after which it continues in another cycle.
        """
        self.search = NodeSearch(passed, most=most, most_now=most_now)
        return self.search

    def note_in_vain(self) -> None:
        """Count a node that failed."""
        self.in_vain += 1
        self.search.note_in_vain()

    def note_success(self, *, is_kept: bool) -> None:
        """Note that evictions on a node make a place, and whether that is taken at once."""
        self.in_vain += not is_kept
        self.search.note_success(is_kept=is_kept)


def effort_of(scratch: Scratch, namespace: str) -> Effort:
    """Return what the searches for a namespace take in the session with a scratch."""
    efforts: dict[str, Effort] = scratch.setdefault(EFFORT, {})
    return efforts.setdefault(namespace, Effort())


class HarmLimits(NamedTuple):
    """Limits of a search for victims."""

    takes_gangs: bool
    """Whether whole gangs may be evicted."""
    highest: int = ANY_PRIORITY
    """The highest priority that a victim may have."""
    protected: frozenset[TaskId] = frozenset()
    """Tasks that must stay."""
    floor: int = NO_VICTIM
    """A priority that the plan is going to reach anyway: victims up to it are equals."""
    only: frozenset[TaskId] | None = None
    """The tasks that may be evicted; all but the protected ones if None."""

    @property
    def repeats(self) -> bool:
        """Whether a better plan than a known one is searched, by limiting the victims."""
        return bool(self.protected) or self.only is not None

    def permits(self, task: TaskId) -> bool:
        """Return whether a task may be evicted, whatever its priority."""
        return task not in self.protected and (self.only is None or task in self.only)


_NO_LIMITS: Final = HarmLimits(takes_gangs=False)


@dataclass(frozen=True, slots=True)
class Found:
    """A plan that was found."""

    harm: Harm
    is_least: bool
    """Whether no plan that has as many places can be less harmful."""
    is_partial: bool
    """Whether a task was refused and waits still, which other victims may give a place."""
    is_committed: bool
    """Whether the plan stands; else it is to be repeated."""
    domain: BoolArray | None
    units: tuple[Unit, ...]
    places: tuple[tuple[Task, int], ...]
    last: tuple[TaskId, ...] = ()
    """One victim of each elastic job that the plan stops."""

    @property
    def rank(self) -> tuple[int, Harm]:
        """Rank of the plan: the smaller, the better; more places come before less harm."""
        return -len(self.places), self.harm


Search = Callable[[HarmLimits], Found | None]
"""Looks for a plan within limits."""

Bound = Callable[[Found, HarmLimits], Harm | None]
"""A harm below which no plan within limits has as many places as one that was found; None if there is no such plan.

Never too high."""


def least_harmful(modes: Sequence[bool], search: Search, bound: Bound, effort: Effort) -> Found | None:
    """Return the least harmful plan that can be found; None if there is no plan.

    A plan that evicts is followed by searches below its highest priority. Once these fail, a plan is searched with its
    victims but one, for each of them. Then each victim is protected in turn, as long as a better plan comes of that and
    steps are left. The victims of other plans that are found so are then protected together with those before. Searches
    that could not find a better plan, as their bounds show, do not begin.

    Args:
        modes: Whether whole gangs may be evicted, in the order in which plans are searched.
        search: Looks for a plan within limits, and counts its steps.
        bound: Returns how little harm is possible within limits, and counts its steps.
        effort: Cost of all searches of the session.
    """
    searches = _Searches(modes, search, bound, effort)
    best = searches.least()
    return None if best is None else searches.with_fewer_stopped(best)


class _Searches:
    """Searches for one job; of those with protected victims as many as its bounds permit."""

    def __init__(self, modes: Sequence[bool], search: Search, bound: Bound, effort: Effort) -> None:
        self._modes, self._search, self._bound, self._effort = modes, search, bound, effort
        self._count = 0
        self._is_over = False

    def least(self) -> Found | None:
        """Return the least harmful plan, whichever elastic jobs it stops; None if there is no plan."""
        best = self.below(_NO_LIMITS)
        while best is not None and best.harm.victims > 0 and self.may_be_better(best, _NO_LIMITS):
            better = self.without_one(best) or self.better(best)
            if better is None:
                return best
            best = better
        return best

    def with_fewer_stopped(self, best: Found) -> Found:
        """Return an equal plan in which more elastic jobs keep a pod, or the same plan."""
        protected: frozenset[TaskId] = frozenset()
        for last in best.last[:_MOST_STOPPED]:
            if self._ends():
                break
            spared = protected | {last}
            begun = self._effort.steps
            found = self._below_if_equal(best, _NO_LIMITS._replace(protected=spared))
            self._effort.left -= self._effort.steps - begun
            if found is not None and found.rank < best.rank:
                best, protected = found, spared
        return best

    def _below_if_equal(self, best: Found, base: HarmLimits) -> Found | None:
        """Search with limited victims, unless no plan with them could be as good as the best one."""
        if not best.is_partial:
            least = self._bound(best, base._replace(takes_gangs=self._modes[-1]))
            if least is None or least > best.harm:
                return None
        self._count += 1
        return self.below(base)

    def without_one(self, best: Found) -> Found | None:
        """Return a better plan with some of the victims of the best one; None if none is found.

        A victim can have become unnecessary by those that were chosen after it, if the tasks are placed elsewhere.
        """
        if len(best.units) < 2 or best.is_partial:
            return None
        victims = frozenset(task.id for task in _victims(best))
        for unit in best.units:
            if self._ends():
                return None
            found = self._try(best, _NO_LIMITS._replace(only=victims.difference(task.id for task in unit)))
            if found is not None and found.rank < best.rank:
                return found
        return None

    def better(self, best: Found) -> Found | None:
        """Return a better plan than the best one, found by protecting victims; None if none is found.

        First, each victim of the best plan is protected alone. A plan that is found then and is no better, even a more
        harmful one, can lead to a better one: its victims are protected together with those before. All sets of n
        protected victims are tried before those of n + 1, since most better plans need few.
        """
        plans = deque([(best, frozenset[TaskId]())])
        seen: set[frozenset[TaskId]] = set()
        while plans:
            plan, protected = plans.popleft()
            for task in _victims(plan):
                spared = protected | {task.id}
                if spared in seen:
                    continue
                if self._ends():
                    return None
                seen.add(spared)
                found = self._try(best, _NO_LIMITS._replace(protected=spared))
                if found is None:
                    continue
                if found.rank == best.rank:
                    found = self.without_one(found) or found
                if found.rank < best.rank:
                    return found
                plans.append((found, spared))
        return None

    def _ends(self) -> bool:
        """Return whether no other search may begin; a job whose searches end that way is counted once."""
        if not self._is_over and (self._count >= _MOST_SEARCHES or self._effort.left <= 0):
            self._is_over = True
            self._effort.cut_short += 1
        return self._is_over

    def _try(self, best: Found, base: HarmLimits) -> Found | None:
        """Search with limited victims, unless no plan with them could be better than the best one."""
        begun = self._effort.steps
        found = None
        if self.may_be_better(best, base):
            self._count += 1
            found = self.below(base)
        self._effort.left -= self._effort.steps - begun
        return found

    def below(self, base: HarmLimits) -> Found | None:
        """Return the plan within limits with the most places and the least harm: priority, gangs, then victims."""
        best: Found | None = None
        limits, mode = base, False
        for takes_gangs in self._modes:
            limits = limits._replace(takes_gangs=takes_gangs)
            while (found := self._search_below(best, limits)) is not None:
                if best is not None and found.rank > best.rank:
                    break  # it places fewer tasks
                best, mode = found, takes_gangs
                if best.is_least:
                    return best
                limits = limits._replace(highest=best.harm.highest - 1)
        if best is None or best.harm.victims <= 1:
            return best
        highest = best.harm.highest
        limits = base._replace(takes_gangs=mode, highest=highest, floor=highest)
        again = self._search_below(best, limits)
        return again if again is not None and again.rank < best.rank else best

    def _search_below(self, best: Found | None, limits: HarmLimits) -> Found | None:
        """Search within limits, unless no plan there could be better than the best one."""
        if limits.highest <= NO_VICTIM or (best is not None and not self._may_be_better(best, limits)):
            return None
        return self._search(limits)

    def may_be_better(self, best: Found, base: HarmLimits) -> bool:
        """Return whether a plan with limited victims might be better than the best one."""
        return self._may_be_better(best, base._replace(takes_gangs=self._modes[-1]))

    def _may_be_better(self, best: Found, limits: HarmLimits) -> bool:
        if best.is_least:
            return False
        if best.is_partial:
            return True  # a plan with more places may be more harmful
        least = self._bound(best, limits)
        return least is not None and least < best.harm._replace(stopped=0)


def _victims(found: Found) -> Iterator[Task]:
    return (task for unit in found.units for task in unit)
