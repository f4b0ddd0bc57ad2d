"""Laws of a scheduler's life: whatever comes, ends, fails or changes, cycles keep them, and the world comes to rest.

A few lives run always; PYROCLAST_DEEP=1 runs many, longer ones, drawn anew each time.
"""

import random
from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.drawing import IS_DEEP, examples
from tests.laws.living.deciding import Decider
from tests.laws.living.jobs import QUEUES, Wish, filling, random_wish
from tests.laws.living.world import Terms, World

EXAMPLES = examples(3, deep=1500)
STEPS = 40 if IS_DEEP else 25
LIFE = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    derandomize=not IS_DEEP,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
EVICTING = ("preempt", "reclaim", "gangpreempt", "gangreclaim", "shuffle")
PICKS = st.integers(0, 11)
SEEDS = st.integers(0, 2**16)
MOST_JOBS = 16
CYCLES_TO_REST = 40
QUIET = 3
"""Cycles without a plan that make a rest."""
PATIENCE = 400.0
"""Seconds after which held capacity that has not become free is given up."""
REQUIRED, PREFERRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))

TERMS = st.builds(
    Terms,
    weight=st.integers(1, 4),
    deserved=st.sampled_from([4, 2, 6, 10, 0]),
    capability=st.sampled_from([None, None, None, None, 6, 12]),
    most_gpus=st.sampled_from([None, None, None, 0, 1, 2]),
    most_gib=st.sampled_from([None, None, None, 8, 16]),
    guarantee=st.sampled_from([0, 0, 1, 3]),
    reclaimable=st.sampled_from([True, True, True, False]),
    state=st.sampled_from(["Open"] * 8 + ["Closing", "Closed"]),
    affinity=st.sampled_from(
        [
            None,
            {"nodeGroupAffinity": {REQUIRED: ["fast"], PREFERRED: ["slow"]}},
            {"nodeGroupAffinity": {PREFERRED: ["slow", "fast"]}},
            {"nodeGroupAffinity": {REQUIRED: ["slow"]}, "nodeGroupAntiAffinity": {PREFERRED: ["fast"]}},
            {"nodeGroupAffinity": {REQUIRED: ["fast", "slow"]}, "nodeGroupAntiAffinity": {REQUIRED: ["slow"]}},
        ]
    ),
)
WISHES = SEEDS.map(lambda seed: random_wish(random.Random(seed)))


class Life(RuleBasedStateMachine):
    """A cluster that is full when we come to it, and then lives on."""

    is_tree = False
    refused = lingering = 0.0
    steps = 0
    figures: Counter[str] = Counter()  # noqa: RUF012 - shared by all runs of one test

    @initialize(
        nodes=st.lists(st.tuples(st.integers(2, 6), st.integers(0, 2)), min_size=2, max_size=6),
        terms=st.tuples(TERMS, TERMS, TERMS),
        setting=PICKS,
        stream=SEEDS,
    )
    def begin(
        self,
        nodes: list[tuple[int, int]],
        terms: tuple[Terms, Terms, Terms],
        setting: int,
        stream: int,
    ) -> None:
        """Fill the cluster with unimportant work."""
        world = World(
            is_tree=self.is_tree,
            nodes={f"n{number}": offered for number, offered in enumerate(nodes)},
            terms=dict(zip(QUEUES, terms, strict=True)),
        )
        self.world, self.decider, self.stream = world, Decider(world), random.Random(stream)
        self.decider.laws.figures = self.figures
        world.reload(setting)
        room = sum(cpu for cpu, _ in nodes)
        while room > 0:
            wish = filling(self.stream)
            room -= wish.tasks * wish.cpu
            world.come(wish)
        for _ in range(2):
            self.decider.cycle(seed=0)

    @invariant()
    def each_cycle_keeps_the_laws(self) -> None:
        """After whatever happened a job comes, now and then the oldest one ends, and a cycle runs."""
        self.steps += 1
        if self.steps % 4 == 0:
            self.world.end_oldest()
        if len(self.world.jobs) < MOST_JOBS:
            self.world.come(random_wish(self.stream))
        self.decider.cycle(seed=self.steps, refused=self.refused, lingering=self.lingering)

    @rule(wishes=st.lists(WISHES, min_size=1, max_size=3))
    def jobs_come(self, wishes: list[Wish]) -> None:
        """Jobs come."""
        for wish in wishes:
            if len(self.world.jobs) < MOST_JOBS:
                self.world.come(wish)

    @rule(refused=st.sampled_from([0.0, 0.0, 0.3]), lingering=st.sampled_from([0.0, 0.0, 0.7]))
    def servers_have_trouble_or_not(self, refused: float, lingering: float) -> None:
        """From now on servers refuse some requests, or who must go takes his time; or all is well."""
        self.refused, self.lingering = refused, lingering

    @rule()
    def failed_pods_are_made_anew(self) -> None:
        """Controllers replace failed pods."""
        self.world.remake_failed()

    @rule()
    def who_lingers_goes(self) -> None:
        """All pods that were asked to go are gone."""
        self.world.cluster.end_lingering(self.world.now)

    @rule(pick=PICKS, phase=st.sampled_from(["Succeeded", "Failed"]))
    def pod_ends(self, pick: int, phase: str) -> None:
        """A pod ends."""
        self.world.end_pod(pick, phase)

    @rule(pick=PICKS)
    def job_ends(self, pick: int) -> None:
        """All that runs of a job ends well."""
        self.world.end_job(pick)

    @rule(pick=PICKS)
    def job_is_deleted(self, pick: int) -> None:
        """A job is deleted."""
        self.world.leave(pick)

    @rule(pick=PICKS, allowed=st.integers(-1, 2))
    def budget_changes(self, pick: int, allowed: int) -> None:
        """The disruption budget of a job changes, or goes."""
        self.world.budget(pick, allowed)

    @rule(cpu=st.sampled_from([None, 4, 8, 14]), pods=st.integers(3, 20))
    def quota_changes(self, cpu: int | None, pods: int) -> None:
        """The quota of the namespace changes, or goes."""
        self.world.set_quota(cpu, pods)

    @rule(percents=st.lists(st.sampled_from([5, 30, 60, 85]), max_size=6))
    def nodes_are_measured(self, percents: list[int]) -> None:
        """Some nodes are busy, some idle, whatever is requested there; others are not measured."""
        self.world.measure(percents)

    @rule(pick=PICKS)
    def node_is_lost(self, pick: int) -> None:
        """A node is lost."""
        self.world.lose_node(pick)

    @precondition(lambda self: self.world.lost)
    @rule(pick=PICKS)
    def node_is_back(self, pick: int) -> None:
        """A node comes back."""
        self.world.return_node(pick)

    @rule(pick=PICKS)
    def node_is_cordoned_or_not(self, pick: int) -> None:
        """A node is closed, or opened."""
        self.world.cordon(pick)

    @rule(queue=st.sampled_from(QUEUES), terms=TERMS)
    def queue_changes(self, queue: str, terms: Terms) -> None:
        """A queue is set to other terms."""
        self.world.set_queue(queue, terms)
        self.decider.laws.forget()

    @rule(pick=PICKS)
    def configuration_is_loaded(self, pick: int) -> None:
        """Another configuration holds from now on."""
        self.world.reload(pick)

    @rule()
    def scheduler_begins_anew(self) -> None:
        """The process is another one."""
        self.world.restart()
        self.decider.laws.forget()

    @rule(seconds=st.sampled_from([5.0, PATIENCE]))
    def time_passes(self, seconds: float) -> None:
        """Nothing happens for a while."""
        self.world.now += seconds

    def teardown(self) -> None:
        """Leave the world alone: it comes to rest."""
        if not hasattr(self, "world") or self.decider.has_failed:
            return
        world, quiet = self.world, 0
        world.measure([])  # of use that never changes pods would run away for ever
        for _ in range(CYCLES_TO_REST):
            world.remake_failed()
            world.cluster.end_lingering(world.now)
            quiet = 0 if self.decider.cycle(seed=0) else quiet + 1
            if quiet == QUIET:
                world.now += PATIENCE
            if quiet >= 2 * QUIET:
                assert world.untold_pods() == [], "\n".join(world.log)
                return
        raise AssertionError("\n".join(["no rest", *world.log]))


class LifeInATree(Life):
    """The same where queues form a tree."""

    is_tree = True
    figures: Counter[str] = Counter()  # noqa: RUF012 - as above


@pytest.mark.parametrize("life", [Life, LifeInATree])
def test_laws_hold_all_life_long(life: type[Life]) -> None:
    """In every cycle of every run; and the runs are such that evictions did occur."""
    life.figures.clear()
    run_state_machine_as_test(life, settings=LIFE)

    assert sum(life.figures[action] for action in EVICTING) >= EXAMPLES // 2
