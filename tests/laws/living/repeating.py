"""Repeating: one cycle, decided in every way that must come to the same."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec

from pyroclast.cache.state import ClusterState
from pyroclast.cache.stores.gangs.departed import DepartedMembers
from pyroclast.cache.stores.lookups import LOOKUP_KINDS
from pyroclast.framework.configuration import Configuration
from pyroclast.framework.cycle import Silent, open_plugins, run_cycle
from pyroclast.framework.extension.registry import Registry
from pyroclast.framework.reservations.restoring import hold_capacity
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.framework.session.session import Session
from pyroclast.model.api.names import LENT
from pyroclast.model.elastic.names import QUOTA_NAME
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import TaskStatus
from tests.differential.extended import MARKED
from tests.laws.living.configurations import with_looks
from tests.laws.living.inspecting import Headroom, Inspector, headroom_of

__all__ = ["Beginning", "Repeated", "decided_in_every_way", "in_other_order", "miscounted", "told"]

BUDGET = "PodDisruptionBudget"
KINDS = ("Pod", "Node", "PodGroup", "Queue", "PriorityClass", *(kind for kind in LOOKUP_KINDS if kind != BUDGET))
"""In the order of which nothing may hang."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What a cycle is decided from."""

    snapshot: Snapshot
    configuration: Configuration
    registry: Registry
    now: float
    memory: Memory | None

    def decide(self, snapshot: Snapshot, inspector: Inspector | None = None) -> tuple[CycleReport, Memory]:
        """Decide without a cache, on this snapshot or another one of the same cluster."""
        known = self.configuration, self.registry
        configuration, registry = known if inspector is None else with_looks(*known, inspector)
        memory = None if self.memory is None else msgspec.structs.replace(self.memory, quiet_snapshot=-1)
        return run_cycle(
            snapshot,
            configuration,
            registry=registry,
            now=self.now,
            memory=memory,
            outside=MARKED,
            settled=Settled(),
        )


@dataclass(slots=True, kw_only=True)
class Repeated:
    """What a cycle comes to, and where repeating it came to something else."""

    report: CycleReport
    broken: list[str] = field(default_factory=list)
    headroom: Headroom | None = None
    """What queues have left at its end, where it was inspected."""


def decided_in_every_way(
    beginning: Beginning, turned: Callable[[], Snapshot | None], chance: random.Random
) -> Repeated:
    """Decide without a cache; then, by chance, once more, for another order of objects, or while being inspected.

    A cycle that evicts is always inspected.

    Args:
        beginning: Snapshot at the beginning of the cycle.
        turned: Returns a snapshot of the same objects, received in another order; None if there is none.
        chance: What is tried.
    """
    snapshot = beginning.snapshot
    first = beginning.decide(snapshot)
    report, way = first[0], chance.randrange(4)
    repeated = Repeated(report=report)
    if way == 0:
        again = msgspec.json.encode(beginning.decide(snapshot))
        repeated.broken += differs("decided twice", msgspec.json.encode(first), again)
    if way == 1 and (other := turned()) is not None:
        found, _ = beginning.decide(other)
        repeated.broken += differs("objects in another order", msgspec.to_builtins(report), msgspec.to_builtins(found))
    if way == 2 or any(plan.evictions for plan in report.plans):
        held = {task: node for places in report.pipelined.values() for task, node in places.items()}
        inspector = Inspector(report.plans, held, chance.randrange(2**32))
        inspected, _ = beginning.decide(snapshot, inspector)
        repeated.broken += [*differs("being inspected", told(report), told(inspected)), *inspector.broken]
        repeated.headroom = inspector.headroom
    return repeated


def in_other_order(state: ClusterState, chance: random.Random) -> Snapshot:
    """Return the snapshot of a state that received the same objects in another order."""
    fresh = ClusterState(state.options)
    for _, budget in sorted(state.stored(BUDGET).items()):
        fresh.apply(BUDGET, budget)
    # a budget that comes later lets those go whom one kept
    fresh._assumptions = state._assumptions.copy()
    fresh._broken_gangs.resume(state._broken_gangs.noted())
    fresh.measure(state.usage)
    pairs = [(kind, each) for kind in KINDS for _, each in sorted(state.stored(kind).items())]
    chance.shuffle(pairs)
    for kind, each in pairs:
        fresh.apply(kind, each)
    fresh._broken_gangs.departed = DepartedMembers(state._broken_gangs.departed.shown())
    return fresh.snapshot()


def miscounted(headroom: Headroom, report: CycleReport, following: Beginning) -> Iterator[str]:
    """Compare what queues had left at the end of a cycle with a session that begins now and holds the same places.

    Args:
        headroom: At the end of the cycle.
        report: Report of the cycle.
        following: With its plans assumed and its memory.
    """
    if any(LENT in bind.annotations for plan in report.plans for bind in plan.binds):
        return  # idle capacity is lent after the last action, and the headroom is that of its end
    profile = following.configuration.profiles[0]
    if any(plan.evictions for plan in report.plans) and any(each.plugin == "proportion" for each in profile.plugins):
        return  # it divides by what is asked for, and those who go ask for nothing
    if any(each.plugin == "elastic-quota" for each in profile.plugins) and _moves_who_has_no_quota(report, following):
        return  # it divides what those leave whose pods have no quota, as it is when a cycle begins
    session = Session(
        following.snapshot,
        profile,
        cycle=0,
        generation=following.configuration.generation,
        now=following.now,
        seed=0,
        outside=MARKED,
        committed=lambda _: None,
        settled=Settled(),
    )
    open_plugins(session, profile, following.registry, Silent())
    hold_capacity(session, () if following.memory is None else following.memory.held)
    held = {task.id for job in session.jobs.all() for task in job.tasks.values() if task.status is TaskStatus.PIPELINED}
    if held == {task for places in report.pipelined.values() for task in places}:
        after = headroom_of(session)
        kept = {number for by_kind in after.values() for number in by_kind}  # pods of others may be gone
        before = {name: {each: by_kind[each] for each in by_kind if each in kept} for name, by_kind in headroom.items()}
        yield from differs("queues have left", before, after)


def _moves_who_has_no_quota(report: CycleReport, following: Beginning) -> bool:
    moved = {bind.task for plan in report.plans for bind in plan.binds}
    moved |= {eviction.task for plan in report.plans for eviction in plan.evictions}
    moved |= {task for places in report.pipelined.values() for task in places}
    tasks = (task for job in following.snapshot.jobs.values() for task in job.tasks.values())
    return any(task.id in moved and QUOTA_NAME not in task.pod.metadata.labels for task in tasks)


def differs(what: str, one: object, other: object) -> Iterator[str]:
    """Say so where two things differ."""
    if one != other:
        yield f"{what}: {one!r}, {other!r}"


def told(report: CycleReport) -> list[str]:
    """Return the plans of a cycle in words."""
    return [
        f"{plan.action} for {plan.job}: binds {[f'{each.name}@{each.node}' for each in plan.binds]}"
        f" evicts {[f'{each.name}@{each.node}' for each in plan.evictions]}"
        f" nominates {[f'{each.name}@{each.node}' for each in plan.nominations]}"
        for plan in report.plans
    ]
