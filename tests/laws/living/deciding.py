"""Deciding: one cycle, in every way that must come to the same, and what becomes of it."""

import random
from collections.abc import Iterator

from pyroclast.cache.files.audit import differences
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from tests.laws.living.configurations import in_force
from tests.laws.living.laws import Laws, Seen
from tests.laws.living.placing import misplaced
from tests.laws.living.repeating import Beginning, decided_in_every_way, in_other_order, miscounted, told
from tests.laws.living.world import World

__all__ = ["Decider"]


class Taking:
    """An observer that assumes plans, as the daemon does."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.refused: list[str] = []

    def committed(self, plan: Plan) -> None:
        """Assume a plan."""
        self.refused += self._world.cluster.assume(plan, self._world.now)

    def phase(self, name: str, begin: bool) -> None:
        """Take no notice."""


class Decider:
    """Runs cycles in a world and checks all laws."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.laws = Laws(world)
        self.has_failed = False
        """Whether a law was broken, so that nothing that comes after it means anything."""

    def cycle(self, *, seed: int, refused: float = 0.0, lingering: float = 0.0) -> tuple[Plan, ...]:
        """Decide and let it happen; returns what was decided.

        Args:
            seed: Seed of what is tried and of what fails.
            refused: Chance of a bind or an eviction to be refused by the server.
            lingering: Chance of an evicted pod to take its time.
        """
        world, chance = self.world, random.Random(seed)
        world.count_quota()
        before = world.cluster.snapshot()
        is_audited = chance.random() < 0.25
        broken = [f"books: {each}" for each in differences(before, world.cluster.rebuilt())] if is_audited else []
        beginning = self._beginning(before)
        repeated = decided_in_every_way(beginning, lambda: in_other_order(world.cluster.state, chance), chance)
        broken += repeated.broken
        taking, (report, world.memory) = self._really_decided(before)
        broken += [f"a plan was refused: {each}" for each in taking.refused]
        broken += _failed(report)
        if report.plans != repeated.report.plans:
            broken.append(f"what is remembered changes decisions: {told(report)}, without {told(repeated.report)}")
        if repeated.headroom is not None:
            broken += miscounted(repeated.headroom, report, self._beginning(world.cluster.snapshot()))
        seen = Seen(before=before, after=world.cluster.snapshot(), report=report)
        broken += self.laws.broken(seen)
        broken += misplaced(before, report, beginning.configuration.profiles[0], world.now)
        world.log.append(f"cycle: {told(report)}")
        self.has_failed = bool(broken)
        assert not broken, "\n".join([*broken, "-- what happened:", *world.log])
        tasks = [each.task for plan in report.plans for each in plan.binds]
        tasks += [each.task for plan in report.plans for each in plan.evictions]
        world.cluster.settle_in_part(
            report.plans,
            report,
            now=world.now + 0.5,
            refused={task for task in tasks if chance.random() < refused},
            lingering={task for task in tasks if chance.random() < lingering},
        )
        world.now += 1.0
        return report.plans

    def _really_decided(self, before: Snapshot) -> tuple[Taking, tuple[CycleReport, Memory]]:
        world, taking = self.world, Taking(self.world)
        plain, registry = in_force(world.setting, world.generation)
        done = run_cycle(
            before,
            plain,
            registry=registry,
            now=world.now,
            memory=world.memory,
            settled=world.settled,
            observer=taking,
        )
        return taking, done

    def _beginning(self, snapshot: Snapshot) -> Beginning:
        world = self.world
        configuration, registry = in_force(world.setting, world.generation)
        return Beginning(
            snapshot=snapshot, configuration=configuration, registry=registry, now=world.now, memory=world.memory
        )


def _failed(report: CycleReport) -> Iterator[str]:
    return (f"{each.labels} failed" for each in report.samples if each.metric == "plugin_failures_total")
