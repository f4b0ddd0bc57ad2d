"""A namespace whose jobs cost an evicting action too much delays itself alone, and each of its jobs has its turn."""

from typing import Any, Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pyroclast.framework.session.namespace_windows import SHARE_USED
from pyroclast.model.ids import JobId
from pyroclast.testing import Outcome, Scenario
from tests.drawing import examples

LAWS: Final = settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
GANG: Final = {"name": "gang", "enablePreemptable": False, "enableReclaimable": False}
TIERS: Final[Any] = (("priority", GANG, "conformance", "capacity"), ("predicates", "nodeorder"))
ACTIONS: Final = ["preempt", "reclaim", "gangpreempt", "gangreclaim"]
TRIALS: Final = {"preempt": 4, "reclaim": 2, "gangpreempt": 9, "gangreclaim": 5}
"""How often an action tries a node in vain for one job: with and without whole gangs, in several ways, and where the
limit of its queue is full once more for that."""
NOISY: Final = "noisy"


def cluster(action: str, nodes: int) -> Scenario:
    """Return nodes of 8 CPU that run protected pods, and as many with pods of low priority."""
    queue = "ours" if "preempt" in action else "theirs"
    scenario = Scenario().priority_class("low", 1).priority_class("high", 9)
    scenario = scenario.queue("ours", deserved={"cpu": 8 * nodes}).queue("theirs", deserved={"cpu": 1})
    for number in range(nodes):
        for kind, namespace in (("kept", "kube-system"), ("free", "default")):
            scenario = scenario.node(f"{kind}-{number}", cpu=8, labels={"kind": kind}).job(
                f"runs-{kind}-{number}",
                namespace=namespace,
                queue=queue,
                cpu=8,
                running_on=[f"{kind}-{number}"],
                priority_class="low",
                priority=1,
            )
    return scenario


def waiting(scenario: Scenario, name: str, kind: str, millis: int, namespace: str) -> Scenario:
    """Add a job of high priority that asks for nodes of one kind."""
    return scenario.job(
        name,
        namespace=namespace,
        queue="ours",
        cpu=f"{millis}m",
        phase="Inqueue",
        priority_class="high",
        priority=9,
        pod={"nodeSelector": {"kind": kind}},
    )


def with_quiet(scenario: Scenario) -> Scenario:
    """Add the job of another namespace, the last one."""
    return waiting(scenario, "quiet", "free", 6000, "default")


def with_noisy(scenario: Scenario, jobs: int) -> Scenario:
    """Add jobs of which no two are alike and that no eviction helps."""
    for number in range(jobs):
        scenario = waiting(scenario, f"n{number}", "kept", 4000 + number, NOISY)
    return scenario


def decided(scenario: Scenario, action: str, *, share: int, cycles: int = 1) -> Outcome:
    """Run cycles with a share of each namespace."""
    arguments = {action: {"namespaceSteps": share}}
    outcome = scenario.run("allocate", action, plugins=TIERS, arguments=arguments, cycles=cycles)
    assert not outcome.warnings
    return outcome


def told(outcome: Outcome, jobs: int, action: str) -> list[list[tuple[str, str]]]:
    """Return reasons and messages about evictions, by job and cycle."""
    return [
        [
            (refusal.reason, refusal.message)
            for each in outcome.rounds
            for refusal in each.report.refusals[JobId(f"{NOISY}/n{number}")]
            if refusal.action == action
        ]
        for number in range(jobs)
    ]


@pytest.mark.parametrize("action", ACTIONS)
@LAWS
@given(st.integers(1, 3), st.integers(1, 6), st.integers(1, 8))
@example(2, 5, 1)
def test_others_are_served_as_if_it_was_not_there(action: str, nodes: int, jobs: int, share: int) -> None:
    """The other namespace gets the same plan in the first cycle."""
    alone = decided(with_quiet(cluster(action, nodes)), action, share=share)
    beside = decided(with_quiet(with_noisy(cluster(action, nodes), jobs)), action, share=share)

    assert beside.evictions == alone.evictions != []
    assert beside.pipelined == alone.pipelined


@pytest.mark.parametrize("action", ACTIONS)
@LAWS
@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 8))
@example(2, 3, 1)
def test_each_job_has_its_turn_and_keeps_its_reason(action: str, nodes: int, jobs: int, share: int) -> None:
    """Within a round each was tried on all nodes; until then the job has a reason, from then on the same as ever."""
    by_job = -(-TRIALS[action] * nodes // share)
    outcome = decided(with_noisy(cluster(action, nodes), jobs), action, share=share, cycles=jobs * by_job + 3)

    for reasons in told(outcome, jobs, action):
        first = next(cycle for cycle, (reason, _) in enumerate(reasons) if reason != SHARE_USED)
        assert first < jobs * by_job
        assert {message for _, message in reasons[:first]} <= {
            f"namespace {NOISY} has used up its share of {action} in this cycle; its jobs are tried in turn"
        }
        assert len(set(reasons[first:])) == 1
    assert not outcome.evictions


@pytest.mark.parametrize("action", ACTIONS)
def test_the_share_defers_and_counts(action: str) -> None:
    """Five jobs, each of which tries a node in vain: with the share of one job one of them is tried in a cycle."""
    outcome = decided(with_noisy(cluster(action, 1), 5), action, share=TRIALS[action], cycles=6)

    tried = [sum(reasons[cycle][0] != SHARE_USED for reasons in told(outcome, 5, action)) for cycle in range(6)]
    assert tried == [1, 2, 3, 4, 5, 5]
    samples = [each for each in outcome.report.samples if each.metric == "deferred_jobs_total"]
    assert [(dict(each.labels), each.value) for each in samples] == [({"action": action, "namespace": NOISY}, 4.0)]


@pytest.mark.parametrize("action", ACTIONS)
def test_without_a_limit_all_are_tried(action: str) -> None:
    """0 is no limit."""
    outcome = decided(with_noisy(cluster(action, 1), 5), action, share=0)

    assert all(reasons[0][0] != SHARE_USED for reasons in told(outcome, 5, action))


@pytest.mark.parametrize("least_harm", [True, False])
@pytest.mark.parametrize("action", ["preempt", "reclaim"])
@pytest.mark.parametrize("members", [1, 2])
def test_a_search_that_is_cut_goes_on_in_the_next_cycle(action: str, least_harm: bool, members: int) -> None:
    """The last of many nodes is found although no cycle tries them all; the plan is that of an uncut search."""
    scenario = cluster(action, 0)
    for number in range(9):
        namespace = "default" if number > 8 - members else "kube-system"
        queue = "ours" if action == "preempt" else "theirs"
        scenario = scenario.node(f"n{number}", cpu=8).job(
            f"runs-{number}", namespace=namespace, queue=queue, cpu=8, running_on=[f"n{number}"], priority_class="low"
        )
    scenario = scenario.queue("ours", deserved={"cpu": 80}).job(
        "big", tasks=members, queue="ours", cpu=5, phase="Inqueue", priority_class="high", priority=9
    )

    def outcome(share: int, cycles: int) -> Outcome:
        arguments = {action: {"namespaceSteps": share, "leastHarm": least_harm}}
        return scenario.run("allocate", action, plugins=TIERS, arguments=arguments, cycles=cycles)

    whole, cut = outcome(0, 1), outcome(3, 8)
    assert len(whole.evictions) == members
    assert cut.evictions == whole.evictions
    attempts = [
        sum(each.value for each in cycle.report.samples if each.metric == "total_preemption_attempts")
        for cycle in cut.rounds
    ]
    assert max(attempts[:2]) <= 3  # counted by preempt alone
    assert not any(plan.evictions for cycle in cut.rounds[:2] for plan in cycle.report.plans)
