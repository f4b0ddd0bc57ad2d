"""Pods with resource claims: devices are allocated with the placement, each to one claim."""

from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.device_claims import allocated, claim, device, device_class, devices_of, exactly, resource_slice, using

PLUGINS = (("priority", "gang"), ("predicates", "nodeorder"))
GPU = "gpu.example.com"


def cluster(*objects: Any, **gpus: int) -> Scenario:
    """Nodes with so many devices `g0`, `g1` ... each."""
    scenario = Scenario().queue("default").add(device_class())
    for name, count in gpus.items():
        scenario = scenario.node(name, cpu=8)
        if count:
            scenario = scenario.add(resource_slice(name, *(device(f"g{number}") for number in range(count))))
    return scenario.add(*objects)


def job(scenario: Scenario, *pods: str, name: str = "job", minimum: int = 0, **more: Any) -> Scenario:
    """Add a gang; each pod names the claims behind its name: `p=c1,c2`."""
    scenario = scenario.job(name, tasks=0, min_available=minimum or len(pods), **more)
    for each in pods:
        pod, _, claims = each.partition("=")
        scenario = scenario.pod(pod, job=name, cpu=1, spec=using(*claims.split(",")))
    return scenario


def run(scenario: Scenario, *actions: str, cycles: int = 1) -> Outcome:
    """Decide."""
    return scenario.run(*(actions or ("allocate",)), plugins=PLUGINS, cycles=cycles)


def claims_after(outcome: Outcome) -> Any:
    """The claims as the last cycle sees them."""
    return outcome.rounds[-1].snapshot.objects.resource_claims


def test_a_pod_is_placed_where_its_devices_are() -> None:
    """The second cycle sees the allocation, which is reserved for the pod."""
    outcome = run(job(cluster(claim("c"), n1=0, n2=1), "p=c"), cycles=2)

    assert outcome.bindings == {"p": "n2"}
    claims = claims_after(outcome)
    assert devices_of(claims, "c") == ["n2/g0"]
    assert [each.name for each in claims["default/c"].status.reserved_for] == ["p"]
    (term,) = claims["default/c"].status.allocation.node_selector.node_selector_terms
    assert term.match_fields[0].values == ("n2",)


def test_no_device_is_given_twice() -> None:
    """Two nodes have three devices: of four pods three are placed, over several cycles too."""
    scenario = cluster(*(claim(f"c{number}") for number in range(4)), n1=2, n2=1)
    outcome = run(job(scenario, *(f"p{number}=c{number}" for number in range(4)), minimum=1), cycles=3)

    assert sorted(outcome.bindings.values()) == ["n1", "n1", "n2"]
    given = [each for number in range(4) for each in devices_of(claims_after(outcome), f"c{number}")]
    assert sorted(given) == ["n1/g0", "n1/g1", "n2/g0"]
    assert "node(s) cannot allocate all resourceclaims" in outcome.why_pod("p3")


def test_a_gang_gets_all_its_devices_or_none() -> None:
    """Three pods need three devices, and there are two."""
    scenario = cluster(*(claim(f"c{number}") for number in range(3)), n1=1, n2=1)
    outcome = run(job(scenario, *(f"p{number}=c{number}" for number in range(3))), cycles=2)

    assert outcome.bindings == {}
    assert [devices_of(claims_after(outcome), f"c{number}") for number in range(3)] == [[], [], []]


def test_pods_of_a_gang_share_a_claim() -> None:
    """The first pod decides, and the others follow it to the node of the device."""
    scenario = cluster(claim("shared"), n1=1, n2=1)
    outcome = run(job(scenario, "p0=shared", "p1=shared", "p2=shared"), cycles=2)

    assert len(set(outcome.bindings.values())) == 1
    assert len(claims_after(outcome)["default/shared"].status.reserved_for) == 3


def test_devices_in_the_network_are_shared_by_nodes() -> None:
    """One device that all nodes reach: its pods run anywhere, and a second claim waits."""
    scenario = cluster(claim("a"), claim("b"), n1=0, n2=0).add(resource_slice("net", device("d"), allNodes=True))
    outcome = run(job(job(scenario, "p=a", "q=a"), "r=b", name="other"), cycles=2)

    assert sorted(outcome.bindings) == ["p", "q"]
    assert claims_after(outcome)["default/a"].status.allocation.node_selector is None


def test_devices_of_some_nodes_restrict_their_pods_to_these() -> None:
    """The allocation has the selector of the slice."""
    term = {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}
    scenario = Scenario().queue("default").add(device_class(), claim("c"))
    scenario = scenario.node("n1").node("n2", labels={"rack": "r1"}).node("n3", labels={"rack": "r1"})
    scenario = scenario.add(resource_slice("net", device("d"), nodeSelector={"nodeSelectorTerms": [term]}))
    outcome = run(job(scenario, "p=c"), cycles=2)

    assert outcome.bindings["p"] in {"n2", "n3"}
    (found,) = claims_after(outcome)["default/c"].status.allocation.node_selector.node_selector_terms
    assert found.match_expressions[0].values == ("r1",)


def test_devices_can_select_their_nodes_one_by_one() -> None:
    """Each device of the slice names its own node."""
    devices = [{**device("a"), "nodeName": "n1"}, {**device("b"), "nodeName": "n2"}]
    scenario = cluster(claim("c", exactly("r", f'"x" in device.attributes["{GPU}"]')), n1=0, n2=0)
    devices[1]["attributes"] = {"x": {"bool": True}}
    outcome = run(job(scenario.add(resource_slice("net", *devices, perDeviceNodeSelection=True)), "p=c"))

    assert outcome.bindings == {"p": "n2"}


BIG = f'device.capacity["{GPU}"].memory.compareTo(quantity("40Gi")) >= 0'
DEVICES = (
    device("small", memory="16Gi", model="T4", version="1.2.3", numa=0),
    device("big0", memory="80Gi", model="A100", version="2.0.0", numa=0),
    device("big1", memory="80Gi", model="A100", version="2.1.0", numa=1),
    device("bad", memory="80Gi", model="A100", taints=[{"key": "broken", "effect": "NoSchedule"}], numa=1),
)
TOLERATION = {"key": "broken", "operator": "Exists"}


def first_of(*alternatives: dict[str, Any]) -> dict[str, Any]:
    """A request with alternatives, each a request for a device of class `gpu`."""
    subs = [{"name": each["name"], **each["exactly"]} for each in alternatives]
    return {"name": "r", "firstAvailable": subs}


@pytest.mark.parametrize(
    ("requests", "more", "expected"),
    [
        ([exactly()], {}, ["n/small"]),
        ([exactly("r", BIG)], {}, ["n/big0"]),
        ([exactly("r", BIG, count=2)], {}, ["n/big0", "n/big1"]),
        ([exactly("r", BIG, count=3)], {}, []),
        ([exactly("r", BIG, count=3, tolerations=[TOLERATION])], {}, ["n/big0", "n/big1", "n/bad"]),
        ([exactly("r", f'device.attributes["{GPU}"].version.isGreaterThan(semver("2.0.0"))')], {}, ["n/big1"]),
        ([exactly("r", f'device.attributes["{GPU}"].model == "T4"', allocationMode="All")], {}, ["n/small"]),
        ([exactly("r", allocationMode="All")], {}, []),
        ([exactly("r", capacity={"requests": {"memory": "20Gi"}})], {}, ["n/big0"]),
        ([exactly("a", BIG), exactly("b")], {}, ["n/big0", "n/small"]),
        ([exactly("a"), exactly("b", f'device.attributes["{GPU}"].model == "T4"')], {}, ["n/big0", "n/small"]),
        ([exactly("r", count=2)], {"constraints": [{"matchAttribute": f"{GPU}/model"}]}, ["n/big0", "n/big1"]),
        ([exactly("r", count=2)], {"constraints": [{"distinctAttribute": f"{GPU}/numa"}]}, ["n/small", "n/big1"]),
        ([exactly("r", count=3)], {"constraints": [{"matchAttribute": f"{GPU}/model"}]}, []),
        ([exactly("r", count=2)], {"constraints": [{"matchAttribute": f"{GPU}/absent"}]}, []),
        (
            [exactly("a", BIG), exactly("b"), exactly("c")],
            {"constraints": [{"requests": ["a", "c"], "matchAttribute": f"{GPU}/model"}]},
            ["n/big0", "n/small", "n/big1"],
        ),
        ([first_of(exactly("many", BIG, count=3), exactly("two", count=2))], {}, ["r/two:n/small", "r/two:n/big0"]),
        ([first_of(exactly("none", "false"), exactly("one", BIG))], {}, ["r/one:n/big0"]),
    ],
)
def test_devices_meet_what_a_claim_asks_for(requests: Any, more: Any, expected: list[str]) -> None:
    """Selectors, counts, all devices, capacity, taints, constraints, and alternatives."""
    scenario = Scenario().queue("default").node("n").add(device_class(), resource_slice("n", *DEVICES))
    outcome = run(job(scenario.add(claim("c", *requests, **more)), "p=c"), cycles=2)

    assert devices_of(claims_after(outcome), "c") == expected
    assert bool(outcome.bindings) is bool(expected)


def test_the_class_selects_devices_before_the_request() -> None:
    """Its expression keeps those of the request from devices that lack an attribute."""
    by_model = device_class("gpu", f'device.driver == "{GPU}" && has(device.attributes["{GPU}"].model)')
    scenario = Scenario().queue("default").node("n").add(by_model)
    scenario = scenario.add(resource_slice("n", device("plain"), device("a", model="A100")))
    wanted = claim("c", exactly("r", f'device.attributes["{GPU}"].model == "A100"'))

    assert run(job(scenario.add(wanted), "p=c")).bindings == {"p": "n"}


def test_admin_access_needs_no_free_device() -> None:
    """The device is in use, and stays that of the other claim."""
    busy = claim("busy", status=allocated("n/g0", node="n", uids=["other"]))
    watching = claim("watching", exactly("r", adminAccess=True, allocationMode="All"))
    outcome = run(job(cluster(busy, watching, claim("more"), n=1), "p=watching", "q=more", minimum=1), cycles=2)

    assert outcome.bindings == {"p": "n"}
    (result,) = claims_after(outcome)["default/watching"].status.allocation.devices.results
    assert result.admin_access


def test_the_allocation_has_the_configuration_of_class_and_claim() -> None:
    """That of the claim comes last, so that it takes precedence."""
    by_class = {"opaque": {"driver": GPU, "parameters": {"mode": "a"}}}
    by_claim = {"requests": ["r"], "opaque": {"driver": GPU, "parameters": {"mode": "b"}}}
    scenario = Scenario().queue("default").node("n").add(device_class("gpu", config=[by_class]))
    scenario = scenario.add(resource_slice("n", device("d")), claim("c", config=[by_claim]))
    config = claims_after(run(job(scenario, "p=c"), cycles=2))["default/c"].status.allocation.devices.config

    assert [(each.source, each.requests, each.opaque.parameters) for each in config] == [
        ("FromClass", (), {"mode": "a"}),
        ("FromClaim", ("r",), {"mode": "b"}),
    ]


def test_a_pod_with_several_claims_gets_all_of_them_on_one_node() -> None:
    """Each of two nodes has enough for one claim only, the third for both."""
    scenario = cluster(claim("a"), claim("b", exactly("r", count=2)), n1=1, n2=2, n3=3)
    outcome = run(job(scenario, "p=a,b"), cycles=2)

    assert outcome.bindings == {"p": "n3"}
    assert devices_of(claims_after(outcome), "a") == ["n3/g0"]
    assert devices_of(claims_after(outcome), "b") == ["n3/g1", "n3/g2"]


def test_a_claim_that_is_in_use_leads_its_pods_to_its_node() -> None:
    """Another pod runs with it on the only node of the device."""
    busy = claim("shared", status=allocated("n2/g0", node="n2", uids=["other"]))
    outcome = run(job(cluster(busy, n1=1, n2=1), "p=shared"), cycles=2)

    assert outcome.bindings == {"p": "n2"}
    assert [each.name for each in claims_after(outcome)["default/shared"].status.reserved_for] == ["other", "p"]


def test_a_claim_left_over_from_a_failed_bind_gets_other_devices() -> None:
    """Its node is full; the pod is alone in the reservation, so that the claim moves."""
    left = claim("c", status=allocated("n1/g0", node="n1"))
    scenario = cluster(left, n1=1, n2=1).pod("full", node="n1", cpu=8, scheduler="default-scheduler")
    outcome = run(job(scenario, "p=c"), cycles=2)

    assert outcome.bindings == {"p": "n2"}
    assert devices_of(claims_after(outcome), "c") == ["n2/g0"]


def test_a_claim_left_over_is_kept_where_its_node_has_room() -> None:
    """Nothing is allocated again."""
    left = claim("c", status=allocated("n1/g1", node="n1"))
    outcome = run(job(cluster(left, n1=2), "p=c"), cycles=2)

    assert outcome.bindings == {"p": "n1"}
    assert devices_of(claims_after(outcome), "c") == ["n1/g1"]


def test_a_claim_left_over_moves_once() -> None:
    """The first pod keeps the devices, and a second pod with the claim follows it."""
    left = claim("c", status=allocated("n1/g0", node="n1"))
    outcome = run(job(job(cluster(left, n1=1, n2=1), "p=c"), "q=c", name="other"), cycles=2)

    assert outcome.bindings == {"p": "n1", "q": "n1"}


def crowded(needs: str) -> Scenario:
    """A less important pod has the only device and all CPUs; a more important one needs them, or the CPUs alone."""
    scenario = cluster(claim("new"), n=1).priority_class("high", 9).job("low", tasks=0, min_available=0)
    scenario = scenario.pod("victim", job="low", node="n", cpu=8, spec=using("old"))
    scenario = scenario.add(claim("old", status=allocated("n/g0", node="n", uids=["default-victim"])))
    scenario = scenario.job("high", tasks=0, min_available=1, priority_class="high", phase="Inqueue")
    scenario = scenario.pod("p", job="high", cpu=8, priority=9, spec=using(*([needs] if needs else [])))
    return job(scenario, "q=new", name="later")


def test_the_devices_of_an_evicted_pod_are_free_when_it_is_gone() -> None:
    """The victim makes room for CPUs; its claim is released with it."""
    outcome = run(crowded(""), "allocate", "preempt", cycles=3)

    assert outcome.evictions == ["victim"]
    assert outcome.bindings == {"p": "n"}
    assert devices_of(claims_after(outcome), "old") == []


def test_no_pod_is_evicted_for_a_device() -> None:
    """As in kube-scheduler: which eviction frees a device is not computed."""
    assert run(crowded("new"), "allocate", "preempt", cycles=2).evictions == []


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ((claim("c", exactly("r", deviceClassName="none")),), "request r: device class none does not exist"),
        ((claim("c", exactly("r", "device.nothing()")),), "selector 0 of it: there is no function 'nothing'"),
        (
            (claim("c", exactly("r", f'device.attributes["{GPU}"].x == 1')),),
            f"selector 0 of it: no such key: x (device {GPU}/n/g0)",
        ),
        ((claim("c", exactly("r", "false")),), "request r: no device of class gpu matches"),
        ((claim("c", exactly("r", count=33)),), "the claim requests 33 devices, more than 32"),
        ((claim("c", exactly("r", allocationMode="Some")),), "request r: unknown allocation mode Some"),
        ((claim("c", {"name": "r"}),), "request r is of an unknown kind"),
        ((), 'resourceclaim "c" not found'),
    ],
)
def test_a_claim_that_no_node_can_serve_is_the_reason(objects: Any, reason: str) -> None:
    """The pod has the reason, and other pods are placed."""
    outcome = run(job(cluster(*objects, claim("fine"), n=2), "p=c", "q=fine", minimum=1))

    assert reason in outcome.why_pod("p")
    assert outcome.bindings == {"q": "n"}


def test_an_incomplete_pool_offers_nothing() -> None:
    """The driver announces two slices, and one is there; an older generation does not count."""
    half = resource_slice("n", device("a"), pool={"generation": 2, "resourceSliceCount": 2})
    old = {**resource_slice("n", device("b")), "metadata": {"name": "old"}}
    scenario = Scenario().queue("default").node("n").node("m").add(device_class(), half, old, claim("c"))
    outcome = run(job(scenario.add(resource_slice("m", device("a"))), "p=c"))

    assert outcome.bindings == {"p": "m"}


def test_a_request_for_all_devices_waits_until_all_are_known() -> None:
    """One pool of the node is incomplete."""
    half = resource_slice("more", device("a"), nodeName="n", pool={"resourceSliceCount": 2})
    wanted = claim("c", exactly("r", allocationMode="All"))
    outcome = run(job(cluster(wanted, half, n=1), "p=c"))

    assert outcome.bindings == {}
    assert "node(s) had resource pools that are incomplete or invalid" in outcome.why_pod("p")


@pytest.mark.parametrize(
    "unsupported",
    [
        {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"], "bindsToNode": True},
        {"allowMultipleAllocations": True},
    ],
)
def test_devices_with_rules_that_are_not_followed_are_not_given(unsupported: Any) -> None:
    """Devices that claims share, and binding conditions."""
    scenario = cluster(claim("c"), n=0).add(resource_slice("n", {**device("d"), **unsupported}))

    assert run(job(scenario, "p=c")).bindings == {}


def partition(name: str, memory: str, counter: str = "memory", **more: Any) -> dict[str, Any]:
    """A device that consumes memory of the card."""
    consumed = [{"counterSet": "card", "counters": {counter: {"value": memory}}}]
    return {**device(name, memory=memory), "consumesCounters": consumed, **more}


def card(memory: str, *devices: dict[str, Any], **spec: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The slices of a pool with a card of so much memory, and its partitions."""
    pool = {"name": "n", "resourceSliceCount": 2}
    shared = [{"name": "card", "counters": {"memory": {"value": memory}}}]
    counters = resource_slice("n", nodeName="n", pool=pool, sharedCounters=shared)
    counters["metadata"] = {"name": "n-counters"}
    return counters, resource_slice("n", *devices, pool=pool, **spec)


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ([exactly()], ["n/whole"]),
        ([exactly("r", count=2)], ["n/half0", "n/half1"]),
        ([exactly("r", count=3)], ["n/half0", "n/quarter0", "n/quarter1"]),
        ([exactly("r", count=4)], []),
        ([exactly("r", allocationMode="All")], []),
        ([exactly("a", capacity={"requests": {"memory": "30Gi"}}), exactly("b")], ["n/half0", "n/half1"]),
    ],
)
def test_partitions_share_the_memory_of_a_card(requests: Any, expected: list[str]) -> None:
    """A card of 80Gi can be one device, two halves, or a half and two quarters."""
    parts = [("whole", "80Gi"), ("half0", "40Gi"), ("half1", "40Gi"), ("quarter0", "20Gi"), ("quarter1", "20Gi")]
    scenario = Scenario().queue("default").node("n").add(device_class(), claim("c", *requests))
    outcome = run(job(scenario.add(*card("80Gi", *(partition(*each) for each in parts))), "p=c"), cycles=2)

    assert devices_of(claims_after(outcome), "c") == expected


def test_a_partition_in_use_leaves_the_rest_of_its_card() -> None:
    """Another claim has a half; the pool is one of several nodes, which all see what is left."""
    parts = [partition(f"half{number}", "40Gi", nodeName=node) for number, node in enumerate(("n", "m", "m"))]
    busy = claim("busy", status=allocated("n/half0", node="n", uids=["other"]))
    scenario = Scenario().queue("default").node("n").node("m").add(device_class(), busy, claim("a"), claim("b"))
    scenario = scenario.add(*card("80Gi", *parts, perDeviceNodeSelection=True))
    outcome = run(job(job(scenario, "p=a"), "q=b", name="other"), cycles=2)

    assert outcome.bindings == {"p": "m"}
    assert devices_of(claims_after(outcome), "a") == ["n/half1"]


@pytest.mark.parametrize("wrong", ["unknown", "amount"])
def test_a_pool_with_wrong_counters_offers_nothing(wrong: str) -> None:
    """A device consumes a counter that is not there, or an amount that is none."""
    part = partition("d", "40Gi", counter="cores") if wrong == "unknown" else partition("d", "much")
    scenario = cluster(claim("c"), claim("fine"), n=0, m=1).add(*card("80Gi", part))
    outcome = run(job(scenario, "p=c", "q=fine", minimum=1))

    assert sorted(outcome.bindings.values()) == ["m"]


def test_a_search_that_takes_too_long_ends() -> None:
    """Devices of two kinds never match in pairs of three: the search ends after so many tries, with the reason."""
    devices = [device(f"d{number}", a=number % 2, b=number) for number in range(24)]
    requests = [exactly(f"r{number}", count=4) for number in range(4)]
    constraints = [{"matchAttribute": f"{GPU}/a"}, {"distinctAttribute": f"{GPU}/b"}]
    scenario = cluster(claim("c", *requests, constraints=constraints), n=0).add(resource_slice("n", *devices))
    outcome = run(job(scenario, "p=c"))

    assert outcome.bindings == {}
    assert "node(s) had too many devices to try for the resourceclaims" in outcome.why_pod("p")
