"""Gang: rules and worked examples of docs/plugins/gang.md."""

from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Vote
from pyroclast.framework.preemption.victim_gangs import active_count, can_spare
from pyroclast.model import wire
from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.plugins.gang import (
    PODS_GRACE_SECONDS,
    has_minimum,
    has_placed_all,
    is_broken,
    is_starving,
    missing_tasks,
    pipelined_vote,
    rank,
    shortage_of_tasks,
)
from pyroclast.testing import Scenario
from tests.unit.plugins.policies import World, acted, bound, group, node, opened, pod

ROLE = "volcano.sh/task-spec"
NODES = node("n1", cpu="8"), node("n2", cpu="8")


def member(name: str, role: str = "", **more: Any) -> wire.Pod:
    """A pod with a role."""
    return pod(name, annotations={ROLE: role} if role else {}, **more)


def running(*names: str, role: str = "", **more: Any) -> list[wire.Pod]:
    """Pods that run on n1."""
    return [member(name, role, on="n1", **more) for name in names]


def world(*objects: Any, **job: Any) -> World:
    """A session with gang alone; keywords describe the group `job`."""
    return opened(*NODES, group("job", **job), *objects, plugins=["gang"])


def parts(size: int = 1, least: int = 0) -> dict[str, Any]:
    """A specification of sub-groups by the label `part`."""
    policy = wire.SubGroupPolicySpec(name="part", match_label_keys=("part",), sub_group_size=size, min_sub_groups=least)
    return {"sub_group_policy": (policy,)}


# Valid ----------------------------------------------------------------------------------------------------------------


def test_too_few_tasks_are_refused_with_both_numbers() -> None:
    """Failed ones do not count, waiting and succeeded ones do."""
    there = world(pod("p"), pod("f", on="n1", phase="Failed"), pod("s", on="n1", phase="Succeeded"), minimum=3)
    refusal = shortage_of_tasks(there.job("job"))

    assert refusal is not None
    assert refusal.reason == "NotEnoughTasks"
    assert refusal.message == "Not enough valid tasks for gang-scheduling, valid: 2, min: 3"
    assert shortage_of_tasks(world(pod("p"), pod("q"), minimum=2).job("job")) is None


def test_a_gang_without_enough_pods_is_not_valid() -> None:
    """No action tries it, and the reason has both numbers."""
    outcome = Scenario().node("n").job("a", tasks=2, min_available=3).run("allocate", plugins=("gang",))

    assert outcome.bindings == {}
    assert "Not enough valid tasks for gang-scheduling, valid: 2, min: 3" in outcome.why("a")


def test_too_few_tasks_of_a_role_are_refused_first() -> None:
    """Before the total is looked at."""
    there = world(member("w1", "worker"), minimum=3, min_task_member={"worker": 2, "ps": 1})
    refusal = shortage_of_tasks(there.job("job"))

    assert refusal is not None
    assert refusal.reason == "NotEnoughPodsOfTask"
    assert refusal.message == "Not enough valid pods of each task for gang-scheduling: ps has 0 of 1, worker has 1 of 2"


def test_roles_are_not_looked_at_when_they_ask_for_more_than_the_minimum() -> None:
    """With minMember 3 and roles 1 + 3: three workers alone are valid."""
    workers = [member(f"w{index}", "worker") for index in range(3)]

    assert shortage_of_tasks(world(*workers, minimum=3, min_task_member={"ps": 1, "worker": 3}).job("job")) is None
    assert (
        shortage_of_tasks(
            world(*workers, member("w3", "worker"), minimum=4, min_task_member={"ps": 1, "worker": 3}).job("job")
        )
        is not None
    )


def test_too_few_sub_groups_are_refused() -> None:
    """Two are requested, one exists."""
    one = pod("a1", labels={"part": "a"}), pod("a2", labels={"part": "a"})
    refusal = shortage_of_tasks(world(*one, minimum=2, **parts(2, 2)).job("job"))

    assert refusal is not None
    assert refusal.reason == "NotEnoughPodsOfTask"
    told = "Not enough valid subGroups of each task for gang-scheduling: part has 1 of 2 sub-groups with 2 pods"
    assert refusal.message == told
    assert shortage_of_tasks(world(*one, minimum=2, **parts(2, 1)).job("job")) is None


def test_sub_groups_that_lack_pods_do_not_count() -> None:
    """There is one pod of the second, and two complete one."""
    there = pod("a1", labels={"part": "a"}), pod("a2", labels={"part": "a"}), pod("b1", labels={"part": "b"})
    refusal = shortage_of_tasks(world(*there, minimum=3, **parts(2, 2)).job("job"))

    assert refusal is not None
    assert refusal.message.endswith(": part has 1 of 2 sub-groups with 2 pods")


def test_a_selector_that_cannot_be_read_is_named() -> None:
    """It selects nothing, so its policy makes no sub-group."""
    term = wire.SelectorRequirement(key="part", operator="Is", values=("a",))
    selector = wire.LabelSelector(match_expressions=(term,))
    policy = wire.SubGroupPolicySpec(name="part", label_selector=selector, min_sub_groups=1)
    refusal = shortage_of_tasks(world(pod("a"), minimum=1, sub_group_policy=(policy,)).job("job"))

    assert refusal is not None
    assert "part has 0 of 1 sub-groups with 1 pod (subGroupPolicy[0].labelSelector.matchExpr" in refusal.message
    assert "'Is' is none of In, NotIn, Exists, DoesNotExist" in refusal.message


# Ready ----------------------------------------------------------------------------------------------------------------


def test_a_minimum_of_none_is_always_met() -> None:
    """Nothing has to run."""
    assert has_minimum(world(pod("p"), minimum=0).job("job"))


def test_succeeded_tasks_count_as_placed_failed_ones_do_not() -> None:
    """Valid pods of a minimum of two."""
    done = pod("s", on="n1", phase="Succeeded")

    assert has_minimum(world(*running("r"), done, minimum=2).job("job"))
    assert not has_minimum(world(*running("r"), pod("f", on="n1", phase="Failed"), minimum=2).job("job"))


def test_pending_tasks_that_ask_for_nothing_count_as_placed() -> None:
    """A gang of them is ready without any placement, but it still starves."""
    there = world(pod("a", cpu="", memory=""), pod("b", cpu="", memory=""), minimum=2)

    assert has_minimum(there.job("job"))
    assert missing_tasks(there.job("job")) == 0
    assert there.session.jobs.job_starving(there.job("job"))


def test_missing_tasks_are_counted_to_the_minimum() -> None:
    """Four less one that runs less one that asks for nothing."""
    there = world(*running("r"), pod("e", cpu="", memory=""), pod("p"), pod("q"), minimum=4)

    assert missing_tasks(there.job("job")) == 2


def test_each_role_must_be_ready() -> None:
    """Three of three run, but no server."""
    workers = running("w1", "w2", "w3", role="worker")
    roles = {"minimum": 3, "min_task_member": {"ps": 1, "worker": 2}}

    assert not has_minimum(world(*workers, member("ps", "ps"), **roles).job("job"))
    assert has_minimum(world(*workers, *running("ps", role="ps"), **roles).job("job"))


def test_enough_sub_groups_must_be_ready() -> None:
    """Two of two members each: one whole and one half is one short."""
    there = [pod(f"{part}{index}", on="n1", labels={"part": part}) for part, index in (("a", 1), ("a", 2), ("b", 1))]

    assert not has_minimum(world(*there, minimum=3, **parts(2, 2)).job("job"))
    assert has_minimum(world(*there, pod("b2", on="n1", labels={"part": "b"}), minimum=3, **parts(2, 2)).job("job"))


def test_sub_jobs_are_ready_by_their_size() -> None:
    """Part a has two of two, b one of two; those that are not ready go first."""
    there = world(
        *(pod(f"{part}{index}", on="n1", labels={"part": part}) for part, index in (("a", 1), ("a", 2), ("b", 1))),
        **parts(2),
    )
    ready = {part.id: there.session.jobs.sub_job_ready(part) for part in there.job("job").sub_jobs.values()}
    ordered = sorted(there.job("job").sub_jobs.values(), key=there.session.jobs.sub_job_order_key)

    assert ready == {"ns/job/part-a": True, "ns/job/part-b": False}
    assert [part.id for part in ordered] == ["ns/job/part-b", "ns/job/part-a"]


def test_waiting_tasks_complete_a_pipelined_minimum() -> None:
    """One runs, one waits for room: enough to hold, not to commit."""
    there = world(*running("r"), pod("p"), minimum=2)
    job = there.job("job")
    assert pipelined_vote(job) is Vote.REJECT
    with there.session.statement() as statement:
        assert statement.pipeline(job, there.tasks("p"), [0]) is None

        assert pipelined_vote(job) is Vote.PERMIT
        assert not has_minimum(job)
        assert not there.session.jobs.job_starving(job)


def test_pipelined_roles_and_sub_groups_count_too() -> None:
    """A role without its minimum rejects, although the total is there."""
    there = world(
        *running("w1", "w2", role="worker"), member("ps", "ps"), minimum=2, min_task_member={"ps": 1, "worker": 1}
    )
    job = there.job("job")
    assert pipelined_vote(job) is Vote.REJECT
    with there.session.statement() as statement:
        assert statement.pipeline(job, there.tasks("ps"), [0]) is None

        assert pipelined_vote(job) is Vote.PERMIT


def test_starving_ignores_roles() -> None:
    """The total is there, the servers are not."""
    there = world(*running("w1", "w2", role="worker"), minimum=2, min_task_member={"ps": 1, "worker": 1})

    assert not there.session.jobs.job_starving(there.job("job"))


def test_a_lost_member_of_a_role_starves() -> None:
    """Two workers run, and the server that is needed waits."""
    there = world(
        *running("w1", "w2", role="worker"),
        member("s", "ps"),
        minimum=2,
        min_task_member={"ps": 1, "worker": 1},
    )

    assert there.session.jobs.job_starving(there.job("job"))
    assert rank(there.job("job")) == (False, False)


def test_a_failed_member_counts_until_a_pod_waits_in_its_place() -> None:
    """A gang of two with a member that runs and one that failed."""
    failed = pod("f", on="n1", phase="Failed")
    alone = world(*running("r"), failed, minimum=2)
    replaced = world(*running("r"), failed, pod("p"), minimum=2)

    assert not is_broken(alone.job("job"))
    assert is_broken(replaced.job("job"))


def test_a_serial_job_starves_while_none_of_it_runs() -> None:
    """Its first pod succeeded, which is its minimum; the second one waits."""
    done = pod("d", on="n1", phase="Succeeded")
    waits = world(done, pod("p"), minimum=1)
    runs = world(done, *running("r"), pod("p"), minimum=1)

    assert is_starving(waits.job("job"))
    assert not is_starving(runs.job("job"))


def test_jobs_below_their_minimum_go_first_and_broken_ones_before_all() -> None:
    """`broken` lost a member, `fresh` never ran, `whole` runs."""
    there = opened(
        *NODES,
        *(group(name, minimum=2) for name in ("broken", "fresh", "whole")),
        pod("b1", job="broken", on="n1"),
        pod("b2", job="broken"),
        pod("f1", job="fresh"),
        pod("f2", job="fresh"),
        pod("w1", job="whole", on="n1"),
        pod("w2", job="whole", on="n1"),
        plugins=["gang"],
    )
    jobs = [there.job(name) for name in ("whole", "fresh", "broken")]

    assert [job.job.name for job in sorted(jobs, key=there.session.jobs.order_key)] == ["broken", "fresh", "whole"]


# Victims --------------------------------------------------------------------------------------------------------------


def test_a_job_gives_what_it_has_above_its_minimum() -> None:
    """Five run, three are needed: the first two candidates may go."""
    there = world(*running("a", "b", "c", "d", "e"), minimum=3)
    candidates = there.tasks("a", "b", "c")

    for point in (contract.PREEMPTABLE, contract.RECLAIMABLE):
        victims, vote = there.function(point).function(candidates[0], candidates)
        assert [task.name for task in victims] == ["a", "b"]
        assert vote is Vote.PERMIT


def test_succeeded_members_let_others_go() -> None:
    """They count for the minimum."""
    there = world(*running("a"), pod("s", on="n1", phase="Succeeded"), minimum=1)

    assert there.session.evictions.preemptable(there.task("a"), there.tasks("a")) == there.tasks("a")


def permitted(there: World, *names: str) -> list[str]:
    """Names of the candidates that gang lets go for a task of another job."""
    candidates = there.tasks(*names)
    beneficiary = msgspec.structs.replace(candidates[0], id=TaskId("asking"), job=JobId("ns/another"))
    victims, vote = there.function(contract.PREEMPTABLE).function(beneficiary, candidates)
    assert vote is Vote.PERMIT
    return [task.name for task in victims]


def test_a_surplus_is_not_spent_on_a_role_without_surplus() -> None:
    """Four run, two are needed, one of each role: the server stays though it is asked first, and two workers may go."""
    pods = [*running("ps", role="ps"), *running("w1", "w2", "w3", role="worker")]
    there = world(*pods, minimum=2, min_task_member={"ps": 1, "worker": 1})

    assert permitted(there, "ps", "w1", "w2", "w3") == ["w1", "w2"]


def test_roles_without_a_minimum_protect_no_pod() -> None:
    """They ask for three where two are the minimum, so only the total matters."""
    pods = [*running("ps", role="ps"), *running("w1", "w2", role="worker")]
    there = world(*pods, minimum=2, min_task_member={"ps": 1, "worker": 2})

    assert permitted(there, "ps", "w1", "w2") == ["ps"]


def in_parts(*names: str) -> list[wire.Pod]:
    """Pods that run, in the sub-group of their first letter."""
    return [pod(name, on="n1", labels={"part": name[0]}) for name in names]


def test_a_surplus_is_not_spent_on_a_sub_group_without_surplus() -> None:
    """One of two pairs must stay whole: once a1 is gone b1 must stay, and a2 is no loss any more."""
    there = world(*in_parts("a1", "a2", "b1", "b2"), minimum=2, **parts(2, 1))

    assert permitted(there, "a1", "b1", "a2", "b2") == ["a1", "a2"]


def test_a_sub_group_above_its_size_spares_what_it_has_more() -> None:
    """Both parts are needed; a has a third member."""
    there = world(*in_parts("a1", "a2", "a3", "b1", "b2"), minimum=3, **parts(2, 2))

    assert permitted(there, "b1", "a1", "a2", "b2") == ["a1"]


def test_candidates_of_no_job_are_passed_over() -> None:
    """Their use is unknown."""
    there = world(*running("a", "b"), pod("alone", job=""), minimum=1)
    alone = there.session.snapshot.orphan_pods[0].task
    candidates = [alone, *there.tasks("a", "b")]

    assert there.function(contract.RECLAIMABLE).function(candidates[1], candidates) == (there.tasks("a"), Vote.PERMIT)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_gang_lets_go_can_be_spared_one_after_the_other(data: st.DataObject) -> None:
    """Taken as evictions, each of them leaves the minimums that plans ask for, and each that stays would not."""
    roles, letters = st.sampled_from(["ps", "worker"]), st.sampled_from("ab")
    members = data.draw(st.lists(st.tuples(roles, letters), min_size=2, max_size=7))
    pods = [
        member(f"p{index}", role, on="n1", cpu="1", labels={"part": part}) for index, (role, part) in enumerate(members)
    ]
    small = st.integers(0, 3)
    least = {"ps": data.draw(small), "worker": data.draw(small)}
    groups = parts(data.draw(st.integers(1, 2)), data.draw(small)) if data.draw(st.booleans()) else {}
    there = world(*pods, minimum=data.draw(st.integers(0, len(pods))), min_task_member=least, **groups)
    names = data.draw(st.permutations([each.metadata.name for each in pods]))
    victims = permitted(there, *names)
    job = there.job("job")

    with there.session.statement() as statement:
        for name in names:
            # the last member may go by itself as a plan's unit, but it is no surplus
            if active_count(job) > 1:
                assert (name in victims) is can_spare(job, there.task(name)), name
            if name in victims:
                there.evict(statement, name)


def test_gang_actions_may_take_all() -> None:
    """They keep minimums themselves."""
    there = world(*running("a", "b"), minimum=2)

    assert there.function(contract.UNIFIED_EVICTABLE).function(None, there.tasks("a", "b")) == (
        there.tasks("a", "b"),
        Vote.PERMIT,
    )


# Conditions -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pods", "minimum", "holds"),
    [
        ([*running("r"), *running("l", leaving=True)], 2, True),
        ([*running("r"), *running("l", leaving=True), pod("p")], 2, False),
        ([pod("l", leaving=True)], 1, False),
        ([*running("r"), *running("l", leaving=True)], 3, False),
        ([pod("f", on="n1", phase="Failed"), *running("l", leaving=True)], 2, True),
        (running("r", "s"), 3, False),
    ],
)
def test_a_job_whose_members_are_leaving_is_not_blamed(pods: list[wire.Pod], minimum: int, holds: bool) -> None:
    """Where those that run, failed or leave a node make the minimum, and none is pending."""
    there = world(*pods, minimum=minimum)
    there.close()

    assert has_placed_all(there.job("job")) is holds
    assert bool(there.session.report.conditions) is not holds


def test_a_waiting_task_is_no_mere_leaving() -> None:
    """A pipelined member means that the gang needs capacity."""
    there = world(*running("r"), *running("l", leaving=True), pod("p"), minimum=3)
    with there.session.statement() as statement:
        assert statement.pipeline(there.job("job"), there.tasks("p"), [0]) is None

        assert not has_placed_all(there.job("job"))


def test_the_condition_of_a_gang_has_the_number_of_missing_members_and_the_reason() -> None:
    """Three of 6 CPU each on two nodes of 8: the third has no room, and nothing is bound."""
    there = acted(world(*(pod(f"p{index}", cpu="6") for index in range(3)), minimum=3))
    there.close()
    (condition,) = there.session.report.conditions[there.job("job").id]

    assert bound(there) == {}
    assert (condition.type, condition.status, condition.reason) == ("Unschedulable", "True", "NotEnoughResources")
    assert condition.message.startswith("1/3 tasks in gang unschedulable: ")
    assert condition.transition_id == there.session.uid
    assert there.samples("unschedule_task_count") == {"job": 1}
    assert there.samples("unschedule_job_count") == {"": 1}
    assert there.samples("job_retry_counts") == {"job": 1}


def test_members_that_are_not_made_yet_lack_too() -> None:
    """One pod of a gang of three is there: three of three lack, not three of one."""
    there = acted(world(pod("p"), minimum=3))
    there.close()
    (condition,) = there.session.report.conditions[there.job("job").id]

    assert condition.message.startswith("3/3 tasks in gang unschedulable: ")


def test_where_a_role_has_no_place_those_without_one_lack() -> None:
    """Both workers fit, which is enough for the minimum of two, but not for the role of the ps, which does not."""
    members = [*(member(f"w{index}", "worker") for index in range(2)), member("z", "ps", cpu="10")]
    there = acted(world(*members, minimum=2, min_task_member={"ps": 1, "worker": 1}))
    there.close()
    (condition,) = there.session.report.conditions[there.job("job").id]

    assert bound(there) == {}
    assert condition.message.startswith("1/3 tasks in gang unschedulable: ")


def test_a_gang_that_runs_is_scheduled() -> None:
    """With the reason that Volcano writes."""
    there = acted(world(pod("p"), pod("q"), minimum=2))
    there.close()
    (condition,) = there.session.report.conditions[there.job("job").id]

    assert sorted(bound(there)) == ["p", "q"]
    assert (condition.type, condition.status) == ("Scheduled", "True")
    assert (condition.reason, condition.message) == ("tasks in gang are ready to be scheduled", "")
    assert there.samples("unschedule_task_count") == {"job": 0}
    assert there.samples("unschedule_job_count") == {"": 0}


def test_an_invalid_gang_gets_its_own_reason() -> None:
    """Too few pods is not a lack of resources."""
    there = acted(world(pod("p"), minimum=2))
    there.close()
    (condition,) = there.session.report.conditions[there.job("job").id]

    assert condition.reason == "NotEnoughTasks"


def test_a_group_without_pods_has_no_condition_at_first() -> None:
    """Its pods are made after it; it is looked at again when they should be there."""
    there = world(minimum=2)
    job = there.job("job")
    there.session.now = job.created + 1
    there.close()

    assert there.session.report.conditions == {}
    assert there.session.report.wakes == job.created + PODS_GRACE_SECONDS
    assert there.samples("unschedule_job_count") == {"": 0}


def test_a_group_with_pods_missing_for_long_gets_a_condition() -> None:
    """With what it needs, and whether it was admitted."""
    there = world(minimum=2, phase="Inqueue")
    there.session.now = there.job("job").created + PODS_GRACE_SECONDS
    there.close()
    (said,) = there.session.report.conditions[JobId("ns/job")]

    assert (said.type, said.reason) == ("Unschedulable", "NotEnoughTasks")
    assert said.message == "is admitted, but has none of the 2 pods that it needs"


def test_a_refused_group_without_pods_has_a_reason() -> None:
    """So that a Job, which makes its pods after admission, can pass the reason on."""
    there = world(minimum=2, phase="Pending")
    there.job("job").refuse(Refusal(plugin="proportion", reason="Full", message="queue is full"))
    there.close()
    (said,) = there.session.report.conditions[JobId("ns/job")]

    assert (said.type, said.reason) == ("Unschedulable", "NotEnoughResources")
    assert said.message == "waits for admission to queue default: queue is full"


def test_members_that_ended_are_not_unschedulable() -> None:
    """Nothing waits for a place: one has failed, the other runs."""
    there = world(*running("r"), pod("f", on="n1", phase="Failed"), minimum=2)
    there.close()

    assert has_placed_all(there.job("job"))
    assert there.session.report.conditions == {}


def test_gangs_settled_below_their_minimum_are_still_counted() -> None:
    """Nothing of it changed, so it is not looked at again, but it still cannot run."""
    there = world(*running("r"), pod("p"), minimum=3)
    job = there.job("job").job
    there.session.jobs._settled.note(there.session.snapshot.job_table, job.column, is_settled=True)
    there.session.jobs._jobs.clear()
    there.close()

    assert there.session.report.conditions == {}
    assert there.samples("unschedule_job_count") == {"": 1}
