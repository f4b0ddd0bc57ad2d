"""The laws of gangs in four dialects in one cluster: all or nothing, one order, topology, eviction, rest."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pyroclast.testing import Outcome, Scenario
from tests.drawing import examples
from tests.gangs import annotated, described_by, gang_pod_group
from tests.laws.test_gangs_of_koordinator import bound_by, evicted, no_node_is_crowded
from tests.native import ALL, native_group, of_native

PLUGINS = (("coscheduling", "priority", "gang", "conformance"), ("predicates", "proportion", "nodeorder"))
CYCLE = ("enqueue", "allocate", "backfill")
EVICTING = (*CYCLE, "preempt", "gangpreempt")
DIALECTS = ("native", "sigs", "annotated", "volcano")
RACKS = ("r0", "r1")


@dataclass(frozen=True)
class Drawn:
    """A gang as it was drawn."""

    dialect: str
    least: int
    running: int
    waiting: int
    priority: int
    key: str = ""
    mode: Any = None


def first_node(gang: Drawn) -> list[str]:
    """Return the nodes of running members: those of one rack if the gang has a topology."""
    return ["big"] * gang.running


@st.composite
def gangs(draw: st.DrawFn) -> Drawn:
    """Draw one gang."""
    dialect, running = draw(st.sampled_from(DIALECTS)), draw(st.sampled_from((0, 0, 1, 2, 3)))
    is_native = dialect == "native"
    return Drawn(
        dialect=dialect,
        least=draw(st.integers(1, 4)),
        running=running,
        waiting=draw(st.integers(0, 4)),
        priority=draw(st.integers(0, 2)),
        key="rack" if is_native and draw(st.booleans()) else "",
        mode=draw(st.sampled_from((None, ALL, {"single": {}}))) if is_native else None,
    )


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Scenario, dict[str, Drawn]]:
    """Draw a few nodes in two racks, and up to five gangs."""
    scenario = Scenario().queue("default").node("big", cpu=99, labels={"rack": RACKS[0]})
    for number in range(draw(st.integers(1, 4))):
        labels = {"small": "yes", "rack": draw(st.sampled_from(RACKS))}
        scenario = scenario.node(f"n{number}", cpu=draw(st.integers(1, 6)), labels=labels)
    for value in range(3):
        scenario = scenario.priority_class(f"p{value}", value)
    drawn = {f"g{number}": gang for number, gang in enumerate(draw(st.lists(gangs(), min_size=1, max_size=5)))}
    for name, gang in drawn.items():
        scenario = _with(scenario, name, gang, draw(st.integers(1, 2)))
    return scenario, drawn


def _with(scenario: Scenario, name: str, gang: Drawn, cpu: int) -> Scenario:
    """Add a gang of a dialect."""
    match gang.dialect:
        case "native":
            group = native_group(name, gang.least, key=gang.key, disruptionMode=gang.mode, priority=gang.priority)
            scenario = scenario.add(group)
        case "sigs":
            scenario = scenario.add(gang_pod_group(name, gang.least, policy="waiting-and-running"))
        case "volcano":
            metadata = {"name": name, "namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z"}
            needs = {"minMember": gang.least, "queue": "default", "priorityClassName": f"p{gang.priority}"}
            kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
            scenario = scenario.add({**kind, "metadata": metadata, "spec": needs})
    for number in range(gang.running + gang.waiting):
        runs = number < gang.running
        spec: dict[str, Any] = {} if runs else {"nodeSelector": {"small": "yes"}}
        spec |= of_native(name) if gang.dialect == "native" else {}
        scenario = scenario.pod(
            f"{name}-{number}",
            job=name if gang.dialect == "volcano" else "",
            labels=described_by(name) if gang.dialect == "sigs" else {},
            annotations=annotated(name, gang.least, policy="waiting-and-running")
            if gang.dialect == "annotated"
            else {},
            node="big" if runs else "",
            cpu=cpu,
            priority=gang.priority,
            spec=spec,
        )
    return scenario


def run(scenario: Scenario, *actions: str, **more: Any) -> Outcome:
    """Decide."""
    return scenario.run(*(actions or CYCLE), plugins=PLUGINS, **more)


@settings(max_examples=examples(60), deadline=None)
@given(drawn=clusters())
def test_no_gang_of_any_dialect_is_bound_in_part(drawn: tuple[Scenario, dict[str, Drawn]]) -> None:
    """If a member is bound, as many members are on nodes as the minimum."""
    scenario, gangs = drawn
    outcome = run(scenario)
    bound = bound_by(outcome)
    for name, gang in gangs.items():
        assert not bound[name] or bound[name] + gang.running >= gang.least, (name, gang, bound)
    assert no_node_is_crowded(outcome)
    assert outcome.warnings == ()


@settings(max_examples=examples(60), deadline=None)
@given(drawn=clusters())
def test_a_native_gang_lies_on_one_value_of_its_label(drawn: tuple[Scenario, dict[str, Drawn]]) -> None:
    """Members that run, and members that are bound."""
    scenario, gangs = drawn
    outcome = run(scenario, cycles=3)
    racks = {str(node.name): node.labels["rack"] for node in outcome.rounds[0].snapshot.nodes.facts.nodes}
    for name, gang in gangs.items():
        if not gang.key:
            continue
        places = {node for pod, node in outcome.bindings.items() if pod.rpartition("-")[0] == name}
        assert len({racks[node] for node in (*places, *first_node(gang))}) <= 1, (name, places)


@settings(max_examples=examples(40), deadline=None)
@given(drawn=clusters(), order=st.randoms(use_true_random=False))
def test_the_order_of_input_decides_nothing(drawn: tuple[Scenario, dict[str, Drawn]], order: Any) -> None:
    """The same objects in another order give the same bindings and conditions."""
    objects = list(drawn[0].objects)
    order.shuffle(objects)
    one, other = run(drawn[0]), run(replace(drawn[0], objects=tuple(objects)))

    assert one.bindings == other.bindings
    assert one.report.native_statuses == other.report.native_statuses


@settings(max_examples=examples(40), deadline=None)
@given(drawn=clusters())
def test_rest_is_reached_in_all_dialects(drawn: tuple[Scenario, dict[str, Drawn]]) -> None:
    """After some cycles nothing is decided and no condition is written."""
    outcome = run(drawn[0], cycles=6)

    assert outcome.is_at_rest
    assert outcome.report.native_statuses == ()
    assert outcome.report.pod_conditions == ()


@settings(max_examples=examples(60), deadline=None)
@given(drawn=clusters(), urgent=st.integers(1, 4))
def test_evictions_respect_the_gang_or_its_disruption_mode(
    drawn: tuple[Scenario, dict[str, Drawn]], urgent: int
) -> None:
    """A gang keeps its minimum or is evicted whole; a native one by its mode."""
    scenario, gangs = drawn
    full = {"nodeSelector": {"kubernetes.io/hostname": "big"}}
    scenario = scenario.priority_class("urgent", 1000)
    scenario = scenario.job("urgent", tasks=urgent, cpu=24, priority=1000, priority_class="urgent", pod=full)
    outcome = run(scenario, *EVICTING, cycles=4)
    lost, bound = Counter(name.rpartition("-")[0] for name in evicted(outcome)), bound_by(outcome)
    for name, gang in gangs.items():
        left = gang.running - lost[name]
        if gang.mode == ALL:
            assert lost[name] in {0, gang.running}, (name, gang, lost)
        elif gang.dialect != "native":
            assert not left or left + bound[name] >= min(gang.least, gang.running), (name, gang, lost)
    assert no_node_is_crowded(outcome)
    assert outcome.warnings == ()
