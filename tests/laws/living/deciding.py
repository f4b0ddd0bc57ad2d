"""Deciding: one cycle, in every way that must come to the same, and what becomes of it."""

import random
from collections.abc import Iterator

import msgspec

from cache.audit import differences
from framework.cycle import Silent, open_plugins, run_cycle
from framework.holding import hold_promised_room
from framework.memory import Memory, Settled
from framework.session import Session
from model.plan import Plan
from model.report import CycleReport
from model.snapshot import Snapshot
from model.tasks import TaskStatus
from tests.laws.living.configurations import in_force, with_looks
from tests.laws.living.inspecting import Inspector, headroom_of
from tests.laws.living.laws import Laws, Seen
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
        self._inspector: Inspector | None = None
        """Of the cycle under way, where it was inspected."""

    def cycle(self, *, seed: int, refused: float = 0.0, lingering: float = 0.0) -> tuple[Plan, ...]:
        """Decide and let it happen; returns what was decided.

        Args:
            seed: Of what is tried and of what goes wrong.
            refused: Chance of a bind or an eviction to be refused by the server.
            lingering: Chance of an evicted pod to take its time.
        """
        world, chance = self.world, random.Random(seed)
        before = world.cluster.snapshot()
        is_audited = chance.random() < 0.25
        broken = [f"books: {each}" for each in differences(before, world.cluster.rebuilt())] if is_audited else []
        fresh, repeated = self._decided_in_every_way(before, chance)
        broken += repeated
        taking, (report, world.memory) = self._really_decided(before)
        broken += [f"a plan was refused: {each}" for each in taking.refused]
        broken += _failed(report)
        if report.plans != fresh.plans:
            broken.append(f"what is remembered changes decisions: {_told(report)}, without {_told(fresh)}")
        if self._inspector is not None and "capacity" in world.setting.plugins:
            broken += self._miscounted(self._inspector.headroom, report)
        seen = Seen(before=before, after=world.cluster.snapshot(), report=report)
        broken += self.laws.broken(seen)
        world.log.append(f"cycle: {_told(report)}")
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

    def _decided_in_every_way(self, before: Snapshot, chance: random.Random) -> tuple[CycleReport, list[str]]:
        """Decide without a cache; then, by chance, once more, for another order of objects, or while being inspected.

        A cycle that evicts is always inspected.
        """
        world, self._inspector = self.world, None
        memory = None if world.memory is None else msgspec.structs.replace(world.memory, quiet_snapshot=-1)
        plain, registry = in_force(world.setting, world.generation)

        def decide(snapshot: Snapshot, inspector: Inspector | None = None) -> tuple[CycleReport, Memory]:
            configuration, known = (plain, registry) if inspector is None else with_looks(plain, registry, inspector)
            return run_cycle(snapshot, configuration, registry=known, now=world.now, memory=memory, settled=Settled())

        first = decide(before)
        broken: list[str] = []
        report, way = first[0], chance.randrange(4)
        if way == 0:
            broken += _differs("decided twice", msgspec.json.encode(first), msgspec.json.encode(decide(before)))
        if way == 1:
            turned, _ = decide(world.cluster.in_other_order(chance))
            broken += _differs("objects in another order", msgspec.to_builtins(report), msgspec.to_builtins(turned))
        if way == 2 or any(plan.evictions for plan in report.plans):
            held = {task: node for places in report.pipelined.values() for task, node in places.items()}
            inspector = self._inspector = Inspector(report.plans, held, chance.randrange(2**32))
            inspected, _ = decide(before, inspector)
            broken += [*_differs("being inspected", _told(report), _told(inspected)), *inspector.broken]
        return report, broken

    def _miscounted(self, headroom: dict[str, list[int]], report: CycleReport) -> Iterator[str]:
        """Compare what queues have left with a session that begins now, where the same places are held in it."""
        world = self.world
        configuration, registry = in_force(world.setting, world.generation)
        session = Session(
            world.cluster.snapshot(),
            configuration.profiles[0],
            cycle=0,
            generation=world.generation,
            now=world.now,
            seed=0,
            outside={},
            committed=lambda _: None,
            settled=Settled(),
        )
        open_plugins(session, configuration.profiles[0], registry, Silent())
        hold_promised_room(session, () if world.memory is None else world.memory.promises)
        held = {task.id for job in session.jobs() for task in job.tasks.values() if task.status is TaskStatus.PIPELINED}
        if held == {task for places in report.pipelined.values() for task in places}:
            yield from _differs("queues have left", headroom, headroom_of(session))


def _differs(what: str, one: object, other: object) -> Iterator[str]:
    if one != other:
        yield f"{what}: {one!r}, {other!r}"


def _failed(report: CycleReport) -> Iterator[str]:
    return (f"{each.labels} failed" for each in report.samples if each.metric == "plugin_failures_total")


def _told(report: CycleReport) -> list[str]:
    return [
        f"{plan.action} for {plan.job}: binds {[f'{each.name}@{each.node}' for each in plan.binds]}"
        f" evicts {[f'{each.name}@{each.node}' for each in plan.evictions]}"
        f" nominates {[f'{each.name}@{each.node}' for each in plan.nominations]}"
        for plan in report.plans
    ]
