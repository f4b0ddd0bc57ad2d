"""Laws of Reservations: owners alone use what is reserved, no node is overcommitted, and cycles rest."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.testing import Scenario
from tests.drawing import examples
from tests.reservations import ALLOCATED, affinity, claimed, outcome_of, reservation

NODES = ("n1", "n2")
CPUS = 6
APPS = st.sampled_from(["a", "b", "c"])
RESERVATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "cpu": st.integers(1, 4),
            "node": st.sampled_from(("", *NODES)),
            "app": APPS,
            "allocateOnce": st.booleans(),
            "allocatePolicy": st.sampled_from(["Aligned", "Restricted"]),
            "preAllocation": st.booleans(),
            "preAllocationPolicy": st.sampled_from([{}, {"enableMultiple": True}]),
        }
    ),
    max_size=4,
)
JOBS = st.lists(
    st.fixed_dictionaries(
        {
            "tasks": st.integers(1, 3),
            "cpu": st.integers(1, 4),
            "app": APPS,
            "must": st.booleans(),
            "gang": st.booleans(),
        }
    ),
    max_size=5,
)
RUNNING = st.lists(
    st.fixed_dictionaries(
        {"cpu": st.integers(1, 2), "app": APPS, "node": st.sampled_from(NODES), "uses": st.integers(0, 4)}
    ),
    max_size=3,
)


def _scenario(reservations: list[Any], jobs: list[Any], running: list[Any]) -> tuple[Scenario, dict[str, str]]:
    """Return a cluster on which all that is on nodes has room, and the app of each pod."""
    scenario, room, apps = Scenario().queue("default"), dict.fromkeys(NODES, CPUS), dict[str, str]()
    for name in NODES:
        scenario = scenario.node(name, cpu=CPUS)
    for number, each in enumerate(running):
        if room[each["node"]] >= each["cpu"]:
            room[each["node"]] -= each["cpu"]
            apps[f"run{number}"] = each["app"]
            scenario = scenario.pod(
                f"run{number}",
                node=each["node"],
                cpu=each["cpu"],
                labels={"app": each["app"]},
                annotations=claimed(f"r{each['uses']}"),
            )
    for number, each in enumerate(reservations):
        fits = each["node"] and room[each["node"]] >= each["cpu"]
        if fits:
            room[each["node"]] -= each["cpu"]
        owners = [{"labelSelector": {"matchLabels": {"app": each["app"]}}}]
        rest = {key: each[key] for key in each.keys() - {"node", "app"}}
        scenario = scenario.add(reservation(f"r{number}", node=each["node"] if fits else "", owners=owners, **rest))
    for number, each in enumerate(jobs):
        apps |= {f"j{number}-{index}": each["app"] for index in range(each["tasks"])}
        scenario = scenario.job(
            f"j{number}",
            tasks=each["tasks"],
            min_available=each["tasks"] if each["gang"] else 1,
            cpu=each["cpu"],
            labels={"app": each["app"]},
            annotations=affinity() if each["must"] else {},
        )
    return scenario, apps


def _fill(snapshot: Any) -> dict[str, int]:
    """Return what pods and the rests of Reservations take of each node, thousandths of a CPU."""
    taken = {
        name: sum(task.template.request.get("cpu", 0) for task in snapshot.nodes.tasks[column].values())
        for name, column in snapshot.nodes.column.items()
    }
    for each in snapshot.reservations.values():
        taken[each.node] += each.held().get("cpu", 0)
    return taken


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(reservations=RESERVATIONS, jobs=JOBS, running=RUNNING)
def test_reserved_capacity_is_used_by_owners_alone(
    reservations: list[Any], jobs: list[Any], running: list[Any]
) -> None:
    """No node is overcommitted at any time, a Reservation for one pod has one user, and the cluster comes to rest."""
    scenario, apps = _scenario(reservations, jobs, running)
    outcome = outcome_of(scenario, cycles=8)

    assert outcome.failed_plugins == []
    for each in outcome.rounds:
        assert max(_fill(each.snapshot).values()) <= CPUS * 1000
        for capacity in each.snapshot.reservations.values():
            wanted = reservations[int(capacity.name[1:])]
            assert len(capacity.users) <= 1 or not wanted["allocateOnce"] or running
        for bind in (bind for plan in each.plans for bind in plan.binds if not isinstance(bind.reservation, str)):
            note = bind.annotations.get(ALLOCATED)
            if note:
                wanted = reservations[int(json.loads(note)["name"][1:])]
                assert wanted["app"] == apps[bind.name]
            else:
                assert not jobs[int(bind.name[1:].partition("-")[0])]["must"]
    assert outcome.rounds[-1].plans == ()
