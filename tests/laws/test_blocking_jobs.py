"""The law of blocking jobs: when the named jobs end, the whole minimum of the waiting job fits."""

from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from pyroclast.model.refusals import Refusal
from pyroclast.testing import Outcome, Scenario
from tests.drawing import examples
from tests.hypernodes import hyper_node, rack

ACTIONS = ("enqueue", "allocate", "backfill")
PLUGINS = (("priority", "gang"), ("predicates", "capacity", "network-topology-aware"))
NODES = tuple(f"n{number}" for number in range(6))
TOPOLOGIES: tuple[dict[str, Any] | None, ...] = (
    None,
    {"mode": "hard", "highestTierAllowed": 1},
    {"mode": "hard", "highestTierAllowed": 2},
    {"mode": "soft"},
)


def cluster(limit: int) -> Scenario:
    """Three racks of two nodes with 4 CPU, two of them in a row; a queue with a limit and one without."""
    scenario = Scenario().queue("q", capability={"cpu": limit}).queue("r")
    for node in NODES:
        scenario = scenario.node(node, cpu=4)
    return scenario.add(
        rack("rack-a", "n0", "n1"),
        rack("rack-b", "n2", "n3"),
        rack("rack-c", "n4", "n5"),
        hyper_node("row", 2, "HyperNode", ["rack-a", "rack-b"]),
    )


def running(draw: st.DrawFn, scenario: Scenario) -> Scenario:
    """Add jobs that run, none of which needs more than its nodes have left."""
    left = dict.fromkeys(NODES, 4)
    for number in range(draw(st.integers(6, 14))):
        cpu = draw(st.integers(1, 4))
        nodes = draw(st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique=True))
        on = [node for node in nodes if left[node] >= cpu]
        for node in on:
            left[node] -= cpu
        if on:
            scenario = scenario.running(f"runs-{number}", on=on, cpu=cpu, queue=draw(st.sampled_from("qr")))
    return scenario


@st.composite
def waiting(draw: st.DrawFn) -> Scenario:
    """Draw a cluster in which jobs run and one more, `p`, may have to wait."""
    scenario = running(draw, cluster(draw(st.integers(6, 24))))
    topology = draw(st.sampled_from(TOPOLOGIES))
    group: dict[str, Any] = {"networkTopology": topology}
    parts, size = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    if parts > 1:
        policy = {
            "name": "s",
            "matchLabelKeys": ["part"],
            "subGroupSize": size,
            "minSubGroups": draw(st.integers(0, parts)),
        }
        group["subGroupPolicy"] = [policy | {"networkTopology": draw(st.sampled_from(TOPOLOGIES))}]
    minimum = draw(st.integers(1, parts * size))
    cpu = draw(st.integers(1, 4))
    needs = {"cpu": cpu * minimum} if draw(st.booleans()) else None
    queue = draw(st.sampled_from("qr"))
    scenario = scenario.job("p", tasks=0, min_available=minimum, queue=queue, group=group, min_resources=needs)
    for number in range(parts * size):
        scenario = scenario.pod(f"p-{number}", job="p", cpu=cpu, labels={"part": str(number // size)})
    return scenario


def decided(scenario: Scenario, cycles: int = 2) -> Outcome:
    """Let the job pass the gate, and try it."""
    return scenario.run(*ACTIONS, plugins=PLUGINS, cycles=cycles)


def told(outcome: Outcome) -> Refusal | None:
    """Return the jobs whose end a job waits for, by its message."""
    return next((each for each in outcome.refusals("p") if each.fits_when), None)


def without(scenario: Scenario, jobs: tuple[str, ...]) -> Scenario:
    """Return the cluster in which some jobs have ended."""
    names = {job.partition("/")[2] for job in jobs}

    def is_of(each: Any) -> bool:
        name = each["metadata"]["name"]
        return each["kind"] in {"Pod", "PodGroup"} and (name in names or name.rpartition("-")[0] in names)

    return Scenario(objects=tuple(each for each in scenario.objects if not is_of(each)))


def runs(outcome: Outcome) -> bool:
    """Return whether the minimum of the job was bound."""
    return outcome.phases["p"] == "Running"


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
@given(waiting())
def test_pending_jobs_run_after_the_blocking_jobs(scenario: Scenario) -> None:
    """Without the named jobs the job runs; no jobs are named for a running job."""
    outcome = decided(scenario)
    remedy = told(outcome)
    if remedy is None:
        event("runs" if runs(outcome) else "is told of nobody")
        return
    event(f"told of {len(remedy.fits_when)}")
    assert not outcome.bindings
    assert runs(decided(without(scenario, remedy.fits_when)))
