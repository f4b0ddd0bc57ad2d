"""The laws of Koordinator's gangs: none is bound in part, order of input decides nothing, rest is reached."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pyroclast.model.gangs.names import BIND_ANNOTATIONS, MATCH_POLICIES, MODES, ONCE_SATISFIED, ONLY_WAITING
from pyroclast.plugins.coscheduling import gang_rules
from pyroclast.scheduler.simulation.case import moment_after
from pyroclast.testing import Outcome, Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.drawing import examples
from tests.gangs import annotated, described_by, gang_pod_group
from tests.laws.test_settled import forgetting_changes_nothing

PLUGINS = (("coscheduling", "priority", "gang", "conformance"), ("drf", "predicates", "proportion", "nodeorder"))
NAMES = ("a", "b", "c")


@dataclass(frozen=True)
class Drawn:
    """A gang as it was drawn."""

    least: int
    policy: str
    running: int
    waiting: int


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Scenario, dict[str, Drawn], tuple[str, ...]]:
    """A few nodes, up to three gangs, and which of them form a group; some members run."""
    scenario = Scenario().queue("default").node("big", cpu=99)
    for number in range(draw(st.integers(1, 3))):
        scenario = scenario.node(f"n{number}", cpu=draw(st.integers(1, 6)), labels={"small": "yes"})
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    grouped = tuple(f"default/{name}" for name in names[: draw(st.integers(1, len(names)))])
    gangs: dict[str, Drawn] = {}
    for name in names:
        most = draw(st.integers(1, 4))
        gang = gangs[name] = Drawn(
            least=draw(st.integers(0, 4)),
            policy=draw(st.sampled_from(MATCH_POLICIES)),
            running=draw(st.sampled_from((0, 0, draw(st.integers(0, most))))),
            waiting=draw(st.integers(0, most)),
        )
        said: dict[str, Any] = {
            "policy": gang.policy,
            "mode": draw(st.sampled_from(MODES)),
            "groups": grouped if f"default/{name}" in grouped and len(grouped) > 1 else (),
        }
        by_object = draw(st.booleans())
        if by_object:
            scenario = scenario.add(gang_pod_group(name, gang.least, **said))
        for number in range(gang.running + gang.waiting):
            runs = number < gang.running
            scenario = scenario.pod(
                f"{name}-{number}",
                labels=described_by(name) if by_object else {},
                annotations={} if by_object else annotated(name, gang.least, **said),
                node="big" if runs else "",
                cpu=draw(st.integers(1, 3)),
                priority=draw(st.integers(0, 2)),
                spec=None if runs else {"nodeSelector": {"small": "yes"}},
            )
    if draw(st.booleans()):
        scenario = scenario.job("plain", tasks=draw(st.integers(1, 3)), cpu=draw(st.integers(1, 2)))
    return scenario, gangs, grouped


def run(scenario: Scenario, **more: Any) -> Outcome:
    """Decide, with gangs."""
    return scenario.run("enqueue", "allocate", "backfill", plugins=PLUGINS, **more)


def bound_by(outcome: Outcome) -> Counter[str]:
    """How many members of each gang the first cycle bound."""
    binds = (bind.name for plan in outcome.rounds[0].plans for bind in plan.binds)
    return Counter(name.rpartition("-")[0] for name in binds)


def no_node_is_crowded(outcome: Outcome) -> bool:
    """Whether what runs and what keeps a place have room together."""
    snapshot = outcome.rounds[-1].snapshot
    tasks = {task.id: task for job in snapshot.jobs.values() for task in job.tasks.values()}
    held = {task: node for places in outcome.report.pipelined.values() for task, node in places.items()}
    on_nodes = {**{task.id: task.node for task in tasks.values() if task.node is not None}, **held}
    used: Counter[str] = Counter()
    for task, node in on_nodes.items():
        used[node] += tasks[task].template.request["cpu"]
    return all(used[node.name] <= node.allocatable["cpu"] for node in snapshot.nodes.facts.nodes)


def must_wait(name: str, gangs: Mapping[str, Drawn], group: Sequence[str]) -> bool:
    """Whether members of a gang wait for its group: not where its policy lets them come alone by now."""
    is_satisfied = any(gangs[each].running for each in group)
    return not (gangs[name].policy == ONCE_SATISFIED and is_satisfied)


@settings(max_examples=examples(150), deadline=None)
@given(drawn=clusters())
def test_no_gang_is_bound_in_part(drawn: tuple[Scenario, dict[str, Drawn], tuple[str, ...]]) -> None:
    """Where one that must wait is bound, so is the minimum of each gang of its group, by its own policy."""
    scenario, gangs, grouped = drawn
    bound = bound_by(run(scenario))
    for name in gangs:
        group = [each.rpartition("/")[2] for each in grouped] if f"default/{name}" in grouped else [name]
        if not bound[name] or not must_wait(name, gangs, group):
            continue
        for each in group:
            gang = gangs[each]
            counted = bound[each] + (0 if gang.policy == ONLY_WAITING else gang.running)
            assert counted >= gang.least or not must_wait(each, gangs, group), (name, each, bound)


@settings(max_examples=examples(100), deadline=None)
@given(drawn=clusters())
def test_what_is_bound_together_says_so(drawn: tuple[Scenario, dict[str, Drawn], tuple[str, ...]]) -> None:
    """The count that members carry is the number of those in their plan that carry the same group."""
    scenario, _, _ = drawn
    for plan in (plan for each in run(scenario, cycles=2).rounds for plan in each.plans):
        told = Counter(bind.annotations.get(BIND_ANNOTATIONS[0][0], "") for bind in plan.binds)
        for bind in plan.binds:
            group = bind.annotations.get(BIND_ANNOTATIONS[0][0], "")
            assert bind.annotations.get(BIND_ANNOTATIONS[0][1], "") == (str(told[group]) if group else "")
            assert not group or told[group] > 1


@settings(max_examples=examples(75), deadline=None)
@given(drawn=clusters(), order=st.randoms(use_true_random=False))
def test_order_of_input_decides_nothing(drawn: tuple[Scenario, dict[str, Drawn], tuple[str, ...]], order: Any) -> None:
    """The same objects in another order: the same bindings and the same words."""
    scenario, _, _ = drawn
    objects = list(scenario.objects)
    order.shuffle(objects)
    one, other = run(scenario), run(replace(scenario, objects=tuple(objects)))
    assert one.bindings == other.bindings
    assert one.report.refusals == other.report.refusals
    assert sorted(map(str, one.report.pod_conditions)) == sorted(map(str, other.report.pod_conditions))


@settings(max_examples=examples(75), deadline=None)
@given(drawn=clusters())
def test_rest_is_reached(drawn: tuple[Scenario, dict[str, Drawn], tuple[str, ...]]) -> None:
    """After some cycles nothing is decided and nothing is written any more; what is kept fits beside what runs."""
    outcome = run(drawn[0], cycles=6)
    assert outcome.is_at_rest
    assert no_node_is_crowded(outcome)
    assert outcome.report.pod_conditions == ()
    assert outcome.warnings == ()


EVICTING = ("enqueue", "allocate", "backfill", "preempt", "reclaim", "gangpreempt", "gangreclaim")


@settings(max_examples=examples(100), deadline=None)
@given(drawn=clusters(), urgent=st.integers(1, 4))
def test_no_gang_is_evicted_in_part(drawn: tuple[Scenario, dict[str, Drawn], tuple[str, ...]], urgent: int) -> None:
    """An urgent job needs the capacity of running members: their gang keeps its minimum, or goes whole."""
    scenario, gangs, _ = drawn
    scenario = scenario.priority_class("urgent", 1000)
    full = {"nodeSelector": {"kubernetes.io/hostname": "big"}}
    scenario = scenario.job("urgent", tasks=urgent, cpu=24, priority=1000, priority_class="urgent", pod=full)
    outcome = scenario.run(*EVICTING, plugins=PLUGINS, cycles=4)
    lost, bound = Counter(name.rpartition("-")[0] for name in evicted(outcome)), bound_by(outcome)
    for name, gang in gangs.items():
        left = gang.running + bound[name] - lost[name]
        assert not left or left >= min(gang.least, gang.running), (name, bound, lost)
    assert no_node_is_crowded(outcome)
    assert outcome.warnings == ()


@settings(max_examples=examples(60), deadline=None)
@given(drawn=clusters(), seed=st.integers(0, 2**32))
def test_forgetting_changes_no_decision(drawn: tuple[Scenario, dict[str, Drawn], tuple[str, ...]], seed: int) -> None:
    """A cycle that remembers refusals decides what one that has just begun does, while places are kept and let go."""
    objects = drawn[0].objects
    arguments = {"coscheduling": {"defaultTimeout": "2s"}}
    parsed, registry = configured(("enqueue", "allocate", "backfill"), PLUGINS, arguments)
    configuration = parsed.configuration
    cluster = cluster_of(objects, shard_mode="none", shard="volcano", warnings=[])
    cluster.follow_gangs(gang_rules(configuration.profiles[0]))
    forgetting_changes_nothing(
        cluster,
        configuration,
        registry,
        begin=moment_after(objects),
        cycles=8,
        ends=0.4,
        chance=random.Random(seed),
    )


def evicted(outcome: Outcome) -> list[str]:
    """Names of those that the first cycle evicted."""
    return [each.name for plan in outcome.rounds[0].plans for each in plan.evictions]
