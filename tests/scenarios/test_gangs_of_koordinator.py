"""Koordinator's gangs in whole cycles: the rows of its table of scenarios by their numbers, and what surrounds them."""

from collections.abc import Sequence
from typing import Any

import pytest

from pyroclast.cache.files.objects import decoded
from pyroclast.cache.state import ClusterState
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Settled
from pyroclast.model.api.names import POD_QUEUE_NAME
from pyroclast.model.gangs import GangRules
from pyroclast.model.gangs.names import BIND_ANNOTATIONS, NAME, TOPOLOGY_INDEX, WAITING_TIME
from pyroclast.testing import Outcome, Scenario
from pyroclast.testing.configuration import configured
from tests.gangs import annotated, described_by, gang_pod_group

PLUGINS = (("coscheduling", "priority", "gang"), ("predicates", "nodeorder"))
BASE = Scenario().queue("default").node("full", cpu=64).pod("busy", node="full", cpu=64, scheduler="other")
"""A node without room, on which all members would have a place, were it empty."""
LATER = "2026-01-01T00:00:00Z"
ONE = BASE.node("n", cpu=8)


def run(scenario: Scenario, *actions: str, **more: Any) -> Outcome:
    """Decide, with gangs."""
    return scenario.run(*(actions or ("enqueue", "allocate", "backfill")), plugins=PLUGINS, **more)


def gang(
    scenario: Scenario,
    name: str,
    *,
    least: int,
    running: int = 0,
    waiting: int = 0,
    first: int = 0,
    cpus: Sequence[int] = (),
    namespace: str = "default",
    groups: Sequence[str] = (),
    policy: str = "",
    mode: str = "",
    **more: Any,
) -> Scenario:
    """Add members `<name>-<number>`, some of them running on the node n; `cpus` are requests of those that wait."""
    annotations = annotated(name, least, groups=groups, policy=policy, mode=mode)
    for number in range(first, first + running + waiting):
        place = number - first - running
        scenario = scenario.pod(
            f"{name}-{number}",
            annotations=annotations,
            namespace=namespace,
            node="n" if place < 0 else "",
            cpu=cpus[place] if 0 <= place < len(cpus) else 1,
            **more,
        )
    return scenario


def counts(outcome: Outcome) -> dict[str, tuple[str, str]]:
    """Group and count by member, as bindings carry them; both pairs of annotations must agree."""
    found: dict[str, tuple[str, str]] = {}
    for plan in (plan for each in outcome.rounds for plan in each.plans):
        for bind in plan.binds:
            pairs = {tuple(bind.annotations.get(key, "") for key in keys) for keys in BIND_ANNOTATIONS}
            ((group, count),) = pairs
            found[bind.name] = (group, count)
    return found


def bound(outcome: Outcome) -> list[str]:
    """Names of those that were bound."""
    return sorted(name.rpartition("/")[2] for name in outcome.bindings)


def test_row_1_pods_without_a_gang_never_wait() -> None:
    """A pod group of Volcano is scheduled beside gangs as ever; what it carries is its own."""
    outcome = run(gang(ONE.job("plain"), "a", least=3, waiting=2))
    assert outcome.bindings == {"plain-0": "n"}
    assert counts(outcome) == {"plain-0": ("", "")}


@pytest.mark.parametrize(("waiting", "expected"), [(2, []), (3, ["a-0", "a-1", "a-2"])])
def test_rows_2_3_and_16_members_wait_for_each_other(waiting: int, expected: list[str]) -> None:
    """Two of three wait, with a reason; three are bound."""
    outcome = run(gang(ONE, "a", least=3, waiting=waiting))
    assert bound(outcome) == expected
    if waiting == 2:
        assert outcome.condition_message("a-0") == "the gang is not complete: gang default/a has 2 of 3 pods"
        assert outcome.why("gang:a") == f"coscheduling: {outcome.condition_message('a-0')}"


def test_row_2_members_that_find_no_place_hold_nothing() -> None:
    """Three of four fit: none is bound, and the next job has the room."""
    outcome = run(gang(BASE.node("n", cpu=3), "a", least=4, waiting=4).job("next", cpu=3))
    assert outcome.bindings == {"next-0": "n"}
    assert "insufficient cpu" in outcome.condition_message("a-3").lower()


def test_row_4_once_satisfied_lets_members_come_alone() -> None:
    """One runs, of three: each further one is for itself, and carries nothing."""
    outcome = run(gang(BASE.node("n", cpu=2), "a", least=3, running=1, waiting=2))
    assert bound(outcome) == ["a-1"]
    assert counts(outcome) == {"a-1": ("", "")}


def test_rows_5_and_7_only_waiting_counts_no_member_on_a_node() -> None:
    """Two newcomers wait for a third, whatever runs; three start together."""
    few = gang(ONE, "a", least=3, running=1, waiting=2, policy="only-waiting")
    assert bound(run(few)) == []
    enough = gang(few, "a", least=3, first=3, waiting=1, policy="only-waiting")
    assert bound(run(enough)) == ["a-1", "a-2", "a-3"]
    assert set(counts(run(enough)).values()) == {("default/a", "3")}


def test_row_6_waiting_and_running_counts_them() -> None:
    """One runs, two come: three."""
    outcome = run(gang(ONE, "a", least=3, running=1, waiting=2, policy="waiting-and-running"))
    assert bound(outcome) == ["a-1", "a-2"]
    assert set(counts(outcome).values()) == {("default/a", "2")}


def test_rows_8_and_9_gangs_of_a_group_wait_for_each_other() -> None:
    """One gang is ready and waits for the other's second member; then four are bound, and carry the group and four."""
    ids = ("default/c", "default/d")
    scenario = gang(ONE, "c", least=2, waiting=2, groups=ids)
    short = run(gang(scenario, "d", least=2, waiting=1, groups=ids))
    assert bound(short) == []
    assert short.condition_message("c-0") == "the gang group is not complete: gang default/d has 1 of 2 pods"

    outcome = run(gang(scenario, "d", least=2, waiting=2, groups=ids))
    assert bound(outcome) == ["c-0", "c-1", "d-0", "d-1"]
    assert set(counts(outcome).values()) == {("default/c,default/d", "4")}


def test_row_8_one_gang_of_a_group_finds_no_place() -> None:
    """No pod of the group is bound though one gang fits; also across namespaces."""
    ids = ("default/c", "ml/d")
    scenario = gang(BASE.node("n", cpu=3), "c", least=2, waiting=2, groups=ids)
    scenario = gang(scenario, "d", least=2, waiting=2, groups=ids, namespace="ml")
    assert bound(run(scenario)) == []

    outcome = run(scenario.node("n2", cpu=1))
    assert bound(outcome) == ["c-0", "c-1", "d-0", "d-1"]
    assert set(counts(outcome).values()) == {("default/c,ml/d", "4")}


def test_rows_10_and_11_continuation_after_a_failure() -> None:
    """The second of three finds no node, and two are enough: Strict gives up, NonStrict goes on with the third."""
    strict = gang(ONE, "a", least=2, waiting=3, cpus=(1, 9, 1))
    assert bound(run(strict)) == []
    lenient = gang(ONE, "a", least=2, waiting=3, cpus=(1, 9, 1), mode="NonStrict")
    outcome = run(lenient)
    assert bound(outcome) == ["a-0", "a-2"]
    assert set(counts(outcome).values()) == {("default/a", "2")}


def test_row_11_not_strict_binds_no_pod_below_the_minimum() -> None:
    """Two of three needed members find nodes and keep them: no other pod is placed there."""
    waiting = gang(ONE, "a", least=3, waiting=4, cpus=(3, 9, 9, 3), mode="NonStrict")
    scenario = waiting.job("next", cpu=3)
    outcome = run(scenario, cycles=4)
    assert outcome.bindings == {}
    assert outcome.pipelined == {"a-0": "n", "a-3": "n"}
    assert outcome.is_at_rest
    assert outcome.report.pod_conditions == ()

    strict = gang(ONE, "a", least=3, waiting=4, cpus=(3, 9, 9, 3)).job("next", cpu=3)
    assert run(strict).bindings == {"next-0": "n"}
    arguments = {"coscheduling": {"nonStrictHold": False}}
    assert run(scenario, arguments=arguments).bindings == {"next-0": "n"}


def test_reserved_members_are_bound_when_the_gang_is_complete() -> None:
    """A node for the third comes in the third cycle: all three are bound together, and carry three."""
    scenario = gang(BASE.node("n", cpu=4), "a", least=3, waiting=3, cpus=(2, 2, 9), mode="NonStrict")
    outcome = run(scenario, cycles=4, later={3: scenario.node("large", cpu=9)})
    assert outcome.bindings == {"a-0": "n", "a-1": "n", "a-2": "large"}
    assert set(counts(outcome).values()) == {("default/a", "3")}
    assert len([plan for each in outcome.rounds for plan in each.plans]) == 1


def test_a_gang_that_has_come_together_is_bound_though_a_time_ends() -> None:
    """The last place is found in the cycle before the first one's time is over."""
    scenario = gang(BASE.node("n", cpu=2), "a", least=2, waiting=2, cpus=(2, 9), mode="NonStrict")
    arguments = {"coscheduling": {"defaultTimeout": "2s"}}
    outcome = run(scenario, arguments=arguments, cycles=3, later={2: scenario.node("large", cpu=9)})
    assert outcome.bindings == {"a-0": "n", "a-1": "large"}


def test_row_14_places_are_kept_for_the_waiting_time() -> None:
    """Each member's own: the one that came a second later keeps its place a second longer; then others are served."""
    more = {WAITING_TIME: "2s"}
    first = BASE.node("n", cpu=4)
    for number, cpu in enumerate((2, 9)):
        annotations = annotated("a", 3, mode="NonStrict", more=more)
        first = first.pod(f"a-{number}", annotations=annotations, cpu=cpu)
    first = first.pod("a-2", annotations=annotated("a", 3, mode="NonStrict", more=more), cpu=9)
    second = first.pod("a-3", annotations=annotated("a", 3, mode="NonStrict", more=more), cpu=2)
    outcome = run(second, cycles=2, later={2: second.job("next", cpu=2)})
    assert outcome.pipelined == {"a-0": "n", "a-3": "n"}

    def places(cycles: int) -> tuple[dict[str, str], dict[str, str]]:
        outcome = run(first, cycles=cycles, later={2: second, 3: second.job("next", cpu=2)})
        return outcome.pipelined, outcome.bindings

    assert places(1) == ({"a-0": "n"}, {})
    assert places(2) == ({"a-0": "n", "a-3": "n"}, {})
    assert places(3) == ({"a-3": "n"}, {"next-0": "n"})
    # who let its place go may find one again, where others have left some
    assert places(5)[1] == {"next-0": "n"}


def test_pods_that_lose_a_reservation_get_a_message() -> None:
    """Its group's first reason in the cycle in which it goes."""
    scenario = gang(BASE.node("n", cpu=4), "a", least=2, waiting=2, cpus=(2, 9), mode="NonStrict")
    outcome = run(scenario, arguments={"coscheduling": {"defaultTimeout": "1s"}}, cycles=2)
    assert outcome.pipelined == {}
    assert outcome.why("gang:a") == (
        "scheduler: capacity that was held for it was released: its gang has not come together in time"
    )


def test_a_place_that_is_let_go_is_not_taken_by_the_same_gang() -> None:
    """Members are alike, room is for one: others have it as soon as the time of the first is over."""
    scenario = gang(BASE.node("n", cpu=1), "a", least=3, waiting=3, mode="NonStrict")
    arguments = {"coscheduling": {"defaultTimeout": "2s"}}
    outcome = run(scenario, arguments=arguments, cycles=3, later={2: scenario.job("next", cpu=1)})
    assert outcome.bindings == {"next-0": "n"}
    assert outcome.pipelined == {}

    alone = run(scenario, arguments=arguments, cycles=4)
    assert alone.pipelined == {"a-0": "n"}  # nobody else wanted it


def test_places_are_let_go_when_a_gang_keeps_none_any_more() -> None:
    """A PodGroup takes it over, and is Strict."""
    scenario = gang(BASE.node("n", cpu=4), "a", least=2, waiting=2, cpus=(3, 9), mode="NonStrict")
    outcome = run(scenario, cycles=2, later={2: scenario.add(gang_pod_group("a", 2)).job("next", cpu=3)})
    assert outcome.bindings == {"next-0": "n"}
    assert outcome.why("gang:a") == (
        "scheduler: capacity that was held for it was released: its gang does not keep nodes for its members any more"
    )


def test_places_are_let_go_when_the_gang_is_short_again() -> None:
    """A member ends while the other keeps a place: the gang is not complete, and others have the room."""
    scenario = gang(BASE.node("n", cpu=4), "a", least=2, waiting=2, cpus=(3, 9), mode="NonStrict")
    ended = {**scenario.objects[-1], "status": {"phase": "Failed"}}
    later = scenario.add(ended).job("next", cpu=3)
    outcome = run(scenario, cycles=2, later={2: later})
    assert outcome.bindings == {"next-0": "n"}
    assert outcome.condition_message("a-0").endswith("gang default/a has 1 of 2 pods")


def test_a_group_keeps_places_only_where_all_its_gangs_do() -> None:
    """One of them is Strict: no member keeps a node."""
    ids = ("default/a", "default/b")
    scenario = gang(BASE.node("n", cpu=4), "a", least=1, waiting=1, cpus=(3,), groups=ids, mode="NonStrict")
    for mode, expected in (("Strict", {}), ("NonStrict", {"a-0": "n"})):
        whole = gang(scenario, "b", least=1, waiting=1, cpus=(9,), groups=ids, mode=mode)
        assert run(whole).pipelined == expected


def test_kept_places_and_evictions_go_together() -> None:
    """One member keeps a node, for the other a pod is evicted: both are bound together."""
    scenario = BASE.node("n", cpu=4).node("m", cpu=4, labels={"for": "b"})
    scenario = scenario.running("low", on=["m"], min_available=0, cpu=4)
    scenario = gang(scenario, "a", least=2, waiting=1, cpus=(4,), mode="NonStrict", priority=9)
    other = annotated("a", 2, mode="NonStrict")
    scenario = scenario.pod("b", annotations=other, cpu=4, priority=9, spec={"nodeSelector": {"for": "b"}})
    outcome = run(scenario, "allocate", "preempt", cycles=3)
    assert outcome.evictions == ["low-0"]
    assert outcome.bindings == {"a-0": "n", "b": "m"}
    assert set(counts(outcome).values()) == {("default/a", "2")}


def test_row_12_a_failure_in_one_gang_frees_the_other() -> None:
    """Its members fit and are not bound, and what they would have had goes to the next job."""
    ids = ("default/a", "default/b")
    scenario = gang(ONE, "a", least=2, waiting=2, cpus=(4, 4), groups=ids)
    scenario = gang(scenario, "b", least=1, waiting=1, cpus=(9,), groups=ids)
    outcome = run(scenario.job("next", cpu=8))
    assert outcome.bindings == {"next-0": "n"}


@pytest.mark.parametrize(
    ("policy", "expected"), [("once-satisfied", ["a-5"]), ("waiting-and-running", []), ("only-waiting", [])]
)
def test_row_15_members_that_ended_do_not_count(policy: str, expected: list[str]) -> None:
    """Three of five were bound, two have ended: the new pod is alone, or waits for others."""
    scenario = gang(ONE, "a", least=3, running=1, policy=policy)
    for number in (1, 2):
        annotations = annotated("a", 3, policy=policy)
        scenario = scenario.pod(f"a-{number}", annotations=annotations, node="n", phase="Succeeded")
    assert bound(run(gang(scenario, "a", least=3, first=5, waiting=1, policy=policy))) == expected


def test_row_17_a_pod_group_that_is_missing_is_waited_for() -> None:
    """Members have the name of the missing gang; when it comes, they are bound by its minimum."""
    scenario = ONE.pod("p0", labels=described_by("a")).pod("p1", labels=described_by("a"))
    outcome = run(scenario, cycles=3, later={3: scenario.add(gang_pod_group("a", 2))})
    assert outcome.condition_message("p0") == (
        "the gang is not complete: gang default/a: there is no PodGroup default/a of scheduling.sigs.k8s.io"
    )
    assert bound(outcome) == ["p0", "p1"]
    assert {each.cycle for done in outcome.rounds for each in done.plans} == {3}


def test_row_18_a_group_names_a_gang_that_is_not_there() -> None:
    """Its members wait."""
    outcome = run(gang(ONE, "a", least=1, waiting=1, groups=("default/a", "default/none")))
    assert bound(outcome) == []
    assert outcome.condition_message("a-0") == "the gang group is not complete: there is no gang default/none"


def test_row_19_a_minimum_that_is_none_leaves_it_to_the_next_pod() -> None:
    """Alone it keeps its pod waiting, with the pod, the annotation and the value; the second pod gives three."""
    scenario = ONE.pod("p0", annotations=annotated("a", "x"))
    outcome = run(scenario)
    assert outcome.condition_message("p0") == (
        "the gang is not complete: gang default/a: Pod default/p0: "
        "metadata.annotations[gang.scheduling.koordinator.sh/min-available]: "
        "'x' is not a whole number from 0 to 2147483647; it counts as absent"
    )
    two = scenario.pod("p1", annotations=annotated("a", 3))
    assert run(two).condition_message("p0") == "the gang is not complete: gang default/a has 2 of 3 pods"
    assert bound(run(two.pod("p2", annotations={NAME: "a"}))) == ["p0", "p1", "p2"]


def test_row_20_an_unknown_mode_is_strict() -> None:
    """Its owner gets an event, once."""
    scenario = gang(ONE, "a", least=2, waiting=3, cpus=(1, 9, 1), mode="foo")
    outcome = run(scenario, cycles=2)
    assert bound(outcome) == []
    (told,) = (event for event in outcome.rounds[0].report.events if event.reason == "GangInvalid")
    assert (told.kind, told.name) == ("Pod", "a-0")
    assert told.message == (
        "Pod default/a-0: metadata.annotations[gang.scheduling.koordinator.sh/mode]: "
        "'foo' is none of Strict, NonStrict; it counts as absent"
    )


def test_a_list_without_the_gang_itself_is_reported_and_completed() -> None:
    """It does not count as absent: the other gang is waited for."""
    outcome = run(gang(ONE, "a", least=1, waiting=1, groups=("default/b",)))
    assert outcome.condition_message("a-0") == "the gang group is not complete: there is no gang default/b"
    (told,) = (event for event in outcome.report.events if event.reason == "GangInvalid")
    assert told.message.endswith("the list lacks default/a itself, which is added")


def test_invalid_values_are_reported_at_the_first_opportunity() -> None:
    """A missing queue, and a gang without a pod, do not stop the plugin; later their pods have the reason."""
    ids = ("default/a", "default/b")
    lost = {**annotated("z", 1, mode="foo"), POD_QUEUE_NAME: "none"}
    scenario = ONE.add(gang_pod_group("b", 0, mode="foo", groups=ids)).pod("z", annotations=lost)
    scenario = gang(scenario, "a", least=1, waiting=1, groups=ids)
    settled, memory = Settled(), None
    for now, (state, expected) in enumerate(
        [
            (scenario, []),
            (scenario.pod("b-0", labels=described_by("b")), ["b-0"]),
            (scenario.pod("b-0", labels=described_by("b")).queue("none"), ["z"]),
        ]
    ):
        cluster_state = ClusterState()
        cluster_state.follow_gangs(GangRules())
        for kind, each in decoded(state.objects):
            cluster_state.apply(kind, each)
        parsed, registry = configured(("allocate",), PLUGINS, {})
        report, memory = run_cycle(
            cluster_state.snapshot(),
            parsed.configuration,
            registry=registry,
            now=float(now),
            memory=memory,
            settled=settled,
        )
        assert [event.name for event in report.events if event.reason == "GangInvalid"] == expected
        assert report.failures == {}


def test_row_21_a_satisfied_gang_fails_one_by_one() -> None:
    """Strict, once satisfied: a newcomer without a node keeps no other member pending."""
    outcome = run(gang(ONE, "a", least=2, running=2, waiting=3, cpus=(1, 9, 1)))
    assert bound(outcome) == ["a-2", "a-4"]
    assert "insufficient cpu" in outcome.condition_message("a-3").lower()


def test_members_beyond_the_minimum_follow() -> None:
    """Two together, with their count; the third in the same cycle, for itself."""
    outcome = run(gang(ONE, "a", least=2, waiting=3))
    assert counts(outcome) == {"a-0": ("default/a", "2"), "a-1": ("default/a", "2"), "a-2": ("", "")}


def test_a_member_on_its_way_out_does_not_count() -> None:
    """Three are needed, one runs, one is being deleted, one comes: it waits for another."""
    scenario = gang(ONE, "a", least=3, running=2, waiting=1, policy="waiting-and-running")
    going = {**scenario.objects[4], "metadata": {**scenario.objects[4]["metadata"], "deletionTimestamp": LATER}}
    assert bound(run(scenario)) == ["a-2"]
    assert bound(run(Scenario((*scenario.objects[:4], going, *scenario.objects[5:])))) == []


def test_a_pod_that_is_bound_alone_keeps_what_it_carries() -> None:
    """Its binding says nothing of gangs."""
    annotations = {**annotated("a", 1), BIND_ANNOTATIONS[0][1]: "7"}
    outcome = run(ONE.pod("p", annotations=annotations), cycles=2)
    assert counts(outcome) == {"p": ("", "")}
    (job,) = outcome.rounds[-1].snapshot.jobs.values()
    (task,) = job.tasks.values()
    assert task.pod.metadata.annotations[BIND_ANNOTATIONS[0][1]] == "7"


def test_minimums_of_a_group_go_before_what_is_beyond_them() -> None:
    """Room for two: one of each gang, and not two of the first."""
    ids = ("default/a", "default/b")
    scenario = gang(BASE.node("n", cpu=2), "a", least=1, waiting=3, groups=ids)
    outcome = run(gang(scenario, "b", least=1, waiting=1, groups=ids))
    assert bound(outcome) == ["a-0", "b-0"]
    assert set(counts(outcome).values()) == {("default/a,default/b", "2")}


def test_a_queue_is_named_by_the_oldest_member() -> None:
    """The gang waits for a missing queue, with a reason."""
    scenario = ONE.pod("p", annotations={**annotated("a", 1), POD_QUEUE_NAME: "none"})
    outcome = run(scenario)
    assert outcome.bindings == {}
    assert outcome.why_pod("p") == "scheduler: queue none does not exist"
    younger = scenario.queue("none").pod("q", annotations={**annotated("a", 1), POD_QUEUE_NAME: "other"})
    outcome = run(younger)
    assert bound(outcome) == ["p", "q"]
    assert {job.queue for job in outcome.rounds[0].snapshot.jobs.values()} == {"none"}


def test_members_go_by_their_index() -> None:
    """Capacity for one: the first index comes first, whatever the age; without an index, the more important pod."""
    scenario = BASE.node("n", cpu=1)
    for name, index in (("late", "3"), ("none", ""), ("early", "1")):
        scenario = scenario.pod(name, annotations={**annotated("a", 1), **({TOPOLOGY_INDEX: index} if index else {})})
    assert bound(run(scenario)) == ["early"]

    plain = BASE.node("n", cpu=1).pod("old", annotations=annotated("a", 1))
    assert bound(run(plain.pod("high", annotations=annotated("a", 1), priority=5))) == ["high"]


def test_more_important_gangs_go_first_and_older_ones_before_younger() -> None:
    """Ordered by the highest priority among members, then by age."""
    scenario = gang(BASE.node("n", cpu=2), "z", least=2, waiting=2)
    assert bound(run(gang(scenario, "a", least=2, waiting=2))) == ["z-0", "z-1"]
    assert bound(run(gang(scenario, "a", least=2, waiting=2, priority=3))) == ["a-0", "a-1"]


def test_rest_is_reached() -> None:
    """What can be bound is, what waits says why once, and the last of five cycles decides and writes nothing."""
    scenario = gang(gang(ONE, "a", least=3, waiting=3), "b", least=9, waiting=9)
    scenario = gang(scenario, "c", least=2, waiting=1, mode="foo")
    outcome = run(scenario, cycles=5)
    assert bound(outcome) == ["a-0", "a-1", "a-2"]
    assert outcome.is_at_rest
    assert outcome.report.group_statuses == ()
    assert outcome.report.pod_conditions == ()


def test_gangs_are_preempted_for_and_preempt_whole() -> None:
    """Two of four small ones go for a gang of two; a satisfied gang at its minimum is not broken for one pod."""
    scenario = BASE.node("n", cpu=4)
    small = scenario
    for number in range(4):
        small = small.pod(f"s{number}", annotations=annotated("s", 1), node="n", priority=1)
    outcome = run(gang(small, "a", least=2, waiting=2, priority=9), "allocate", "preempt", cycles=3)
    assert len(outcome.evictions) == 2
    assert bound(outcome) == ["a-0", "a-1"]
    assert set(counts(outcome).values()) == {("default/a", "2")}

    whole = gang(scenario, "s", least=4, running=4, priority=1)
    outcome = run(gang(whole, "a", least=1, waiting=1, priority=9), "allocate", "preempt")
    assert outcome.evictions == []


NEVER = BASE.node("n1", cpu=2).node("n2", cpu=2)


def test_nothing_is_kept_for_a_gang_that_can_never_start() -> None:
    """One member asks for more than any node has, were it empty: the others keep no place, and others are served."""
    scenario = gang(NEVER, "a", least=3, waiting=3, cpus=(2, 2, 99), mode="NonStrict").job("next", tasks=2, cpu=2)
    outcome = run(scenario, cycles=2)

    assert sorted(outcome.bindings) == ["next-0", "next-1"]
    assert outcome.pipelined == {}


def test_a_gang_beyond_which_one_of_its_group_never_starts_keeps_nothing() -> None:
    """The other gang of the group has too many members that fit, which do not make up for it."""
    groups = ("default/a", "default/b")
    scenario = gang(NEVER, "a", least=1, waiting=4, mode="NonStrict", groups=groups)
    scenario = gang(scenario, "b", least=1, waiting=1, cpus=(99,), mode="NonStrict", groups=groups)

    assert run(scenario, cycles=2).pipelined == {}


def test_kept_places_go_to_jobs_of_higher_priority() -> None:
    """As many as it lacks elsewhere; a job of the same priority takes none."""
    waiting = gang(NEVER.node("n3", cpu=2), "a", least=4, waiting=4, cpus=(2, 2, 2, 9), mode="NonStrict")
    high: dict[str, Any] = {"priority_class": "high", "priority": 10}
    scenario = waiting.priority_class("high", 10)

    outcome = run(scenario, cycles=4, later={3: scenario.job("urgent", tasks=2, cpu=2, **high)})
    assert sorted(outcome.bindings) == ["urgent-0", "urgent-1"]
    assert len(outcome.pipelined) == 1

    elsewhere = scenario.job("urgent", tasks=2, cpu=2, **high).node("n4", cpu=4)
    assert len(run(scenario, cycles=3, later={3: elsewhere}).pipelined) == 3
    assert run(scenario, cycles=4, later={3: scenario.job("equal", tasks=2, cpu=2)}).bindings == {}


def test_places_are_not_given_to_a_job_that_lacks_others_too() -> None:
    """Its minimum needs four places, and three are kept."""
    scenario = gang(NEVER.node("n3", cpu=2), "a", least=4, waiting=4, cpus=(2, 2, 2, 9), mode="NonStrict")
    scenario = scenario.priority_class("high", 10)
    more = scenario.job("urgent", tasks=4, cpu=2, priority_class="high", priority=10)

    assert len(run(scenario, cycles=4, later={3: more}).pipelined) == 3


def test_a_waiting_time_has_a_ceiling() -> None:
    """A hundred years count as the longest waiting time that is configured, of pods and of pod groups."""
    more = {WAITING_TIME: "876000h"}
    first = NEVER
    for number, cpu in enumerate((2, 9)):
        first = first.pod(f"a-{number}", annotations=annotated("a", 2, mode="NonStrict", more=more), cpu=cpu)
    arguments = {"coscheduling": {"maxWaitingTime": "2s"}}
    outcome = run(first, arguments=arguments, cycles=3, later={2: first.job("next", tasks=2, cpu=2)})

    assert sorted(outcome.bindings) == ["next-0", "next-1"]
    assert "above the longest waiting time, 2" in "".join(each.message for each in outcome.events)
