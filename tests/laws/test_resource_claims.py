"""Laws of resource claims: no device is given twice, and each bound pod has its devices on its node."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pyroclast.testing import Outcome, Scenario
from tests.device_claims import allocated, claim, device, device_class, exactly, resource_slice, using

NODES = ("n0", "n1", "n2")
PLUGINS = (("priority", "gang"), ("predicates", "nodeorder"))

COUNTS = st.lists(st.integers(0, 3), min_size=4, max_size=4)
"""Devices of each node, and of the network."""
REQUESTED = st.lists(st.sampled_from(["one", "two", "all", "first"]), min_size=1, max_size=6)
"""What each claim requests."""
PODS = st.lists(st.lists(st.integers(0, 5), max_size=2), min_size=1, max_size=6)
"""The claims of each pod; a claim that several pods name is shared."""
GANGS = st.integers(1, 3)
HELD = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.booleans()), max_size=2)
"""Claims that are allocated already: the node, and whether a running pod has them; else they are left over."""


def request(kind: str) -> dict[str, Any]:
    """The request of a claim."""
    if kind == "first":
        subrequests = [{"name": "two", "deviceClassName": "gpu", "count": 2}, {"name": "one", "deviceClassName": "gpu"}]
        return {"name": "r", "firstAvailable": subrequests}
    fields: dict[str, dict[str, Any]] = {"one": {}, "two": {"count": 2}, "all": {"allocationMode": "All"}}
    return exactly("r", **fields[kind])


def scenario_of(counts: Any, sought: Any, pods: Any, size: int, held: Any) -> Scenario:
    """Nodes of two CPUs, claims, and pods in gangs of a size."""
    scenario = Scenario().queue("default").add(device_class())
    for node, count in zip(NODES, counts, strict=False):
        scenario = scenario.node(node, cpu=2)
        scenario = scenario.add(resource_slice(node, *(device(f"d{number}") for number in range(count))))
    scenario = scenario.add(resource_slice("net", *(device(f"d{each}") for each in range(counts[3])), allNodes=True))
    statuses: dict[int, Any] = {}
    busy: set[int] = set()
    for number, node, is_running in held:
        if number < len(sought) and number not in statuses and node not in busy and counts[node]:
            busy.add(node)
            uids = ["other"] if is_running else []
            statuses[number] = allocated(f"{NODES[node]}/d0", node=NODES[node], uids=uids)
    scenario = scenario.add(
        *(claim(f"c{at}", request(each), status=statuses.get(at)) for at, each in enumerate(sought))
    )
    for number, claims in enumerate(pods):
        gang = f"g{number // size}"
        if number % size == 0:
            scenario = scenario.job(gang, tasks=0, min_available=min(size, len(pods) - number))
        names = [f"c{each % len(sought)}" for each in dict.fromkeys(each % len(sought) for each in claims)]
        scenario = scenario.pod(f"p{number}", job=gang, cpu=1, spec=using(*names))
    return scenario


def holders(claims: Any) -> Counter[tuple[str, str, str]]:
    """How many claims have each device."""
    return Counter(
        (each.driver, each.pool, each.device)
        for one in claims.values()
        if one.status.allocation is not None
        for each in one.status.allocation.devices.results
    )


def nodes_of(one: Any) -> set[str]:
    """The nodes of an allocation."""
    selector = one.status.allocation.node_selector
    return set(NODES) if selector is None else set(selector.node_selector_terms[0].match_fields[0].values)


def check(outcome: Outcome, pods: Any, size: int) -> None:
    """Check each cycle's picture, and what was bound in the end."""
    for each in outcome.rounds:
        assert max(holders(each.snapshot.objects.resource_claims).values(), default=1) == 1
    claims = outcome.rounds[-1].snapshot.objects.resource_claims
    for job in outcome.rounds[-1].snapshot.jobs.values():
        running = [task for task in job.tasks.values() if task.node is not None]
        assert len(running) in {0, min(size, len(job.tasks))}, "a gang is placed whole"
        for task in running:
            for named in task.pod.spec.resource_claims:
                one = claims[f"default/{named.resource_claim_name}"]
                assert task.node in nodes_of(one)
                assert task.id in {pod.uid for pod in one.status.reserved_for}
    assert len(pods) >= len(outcome.bindings)


@given(COUNTS, REQUESTED, PODS, GANGS, HELD)
def test_each_device_has_one_claim_and_each_pod_its_devices(
    counts: Any, sought: Any, pods: Any, size: int, held: Any
) -> None:
    """In each of several cycles, for shared claims and for those that are left over, too."""
    scenario = scenario_of(counts, sought, pods, size, held)

    check(scenario.run("allocate", "backfill", plugins=PLUGINS, cycles=3), pods, size)
