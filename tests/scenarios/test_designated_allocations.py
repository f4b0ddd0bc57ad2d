"""Designated allocations: a scheduling hint declares CPUs, amounts and devices of a waiting pod as decided."""

import json
from typing import Any

import pytest

from pyroclast.testing import Scenario
from tests.devices import NVIDIA, device, gpu
from tests.nodenuma import QOS, STATUS, cpus_of, holding, node, policies, run, status_of
from tests.reservations import affinity, reservation

HINT = "internal.scheduling.koordinator.sh/scheduling-hint"
DEVICES = "scheduling.koordinator.sh/device-allocated"
OLD_HINT = "scheduling.koordinator.sh/scheduling-hint"


def hinted(
    scenario: Scenario,
    cpuset: str,
    cpu: int = 2,
    *,
    key: str = HINT,
    hint: Any = None,
    amounts: dict[int, Any] | None = None,
    qos: str = "LSR",
    name: str = "p",
    **given: Any,
) -> Scenario:
    """Add a pod with CPUs that are decided."""
    told = [{"node": numa, "resources": each} for numa, each in (amounts or {}).items()]
    hint = {"extensions": {"NodeNUMAResource": {}}} if hint is None else hint
    annotations = {
        key: hint if isinstance(hint, str) else json.dumps(hint),
        STATUS: json.dumps({"cpuset": cpuset, "numaNodeResources": told}),
        **policies(**given.pop("policies", {})),
        **given.pop("annotations", {}),
    }
    labels = {QOS: qos, **given.pop("labels", {})}
    return scenario.job(name, tasks=1, min_available=1, cpu=cpu, labels=labels, annotations=annotations, **given)


@pytest.mark.parametrize("key", [HINT, OLD_HINT])
def test_a_pod_gets_the_cpus_that_are_decided(key: str) -> None:
    """Without the hint it would get whole cores of the first NUMA node; the binding repeats the decision."""
    assert status_of(run(hinted(node(), "2,7", key=key))) == {"cpuset": "2,7"}
    assert cpus_of(run(hinted(node(), "2,7", hint={"extensions": {"DeviceShare": {}}}))) == "0,4"


@pytest.mark.parametrize(
    ("cpuset", "required"), [("2,6", ""), ("0", ""), ("0-2", ""), ("0-1", "FullPCPUs"), ("0,9", "")]
)
def test_a_decision_that_cannot_be_kept_leaves_the_pod_waiting(cpuset: str, required: str) -> None:
    """CPUs in use, too few, too many, of halves of cores, and of no such CPU: no others are given."""
    there = holding(node(), "held", "2,6", 2)
    outcome = run(hinted(there, cpuset, policies={"required": required}))

    assert outcome.bindings == {}
    assert "cpu" in outcome.why_pod("p-0").lower()


def test_two_pods_with_one_decision() -> None:
    """Pods that differ in their decision alone are different, and equal decisions exclude each other."""
    two = hinted(hinted(node(), "0,4"), "1,5", name="q")
    assert (cpus_of(run(two)), cpus_of(run(two), "q-0")) == ("0,4", "1,5")

    same = run(hinted(hinted(node(), "0,4"), "0,4", name="q"))
    assert len(same.bindings) == 1


def test_the_nodes_of_the_hint_are_the_only_ones() -> None:
    """The reason says so, and no eviction changes it."""
    there = node("n2", base=node("n1"))
    named = {"nodeNames": ["n2"], "extensions": {"NodeNUMAResource": {}}}

    assert run(hinted(there, "0,4", hint=named)).bindings == {"p-0": "n2"}
    outcome = run(hinted(node("n1"), "0,4", hint=named))
    assert "1 node(s) didn't match the scheduling hint" in outcome.why_pod("p-0")


def test_amounts_on_numa_nodes_that_are_decided() -> None:
    """They must be the whole request, free, and follow the policy."""
    single = {"numa": "SingleNUMANode"}
    there = holding(node(), "held", "2", 1, amounts={1: {"cpu": "3"}})

    def decided(cpu: int, amounts: dict[int, Any]) -> dict[str, Any]:
        return status_of(run(hinted(there, "", cpu, amounts=amounts, qos="LS", policies=single)))

    right = {"numaNodeResources": [{"node": 1, "resources": {"cpu": "3"}}]}
    assert decided(3, {1: {"cpu": "3", "memory": "1Gi"}}) == right
    assert decided(3, {0: {"cpu": "1"}, 1: {"cpu": "2"}}) == {}
    assert decided(3, {1: {"cpu": "2"}}) == {}
    assert decided(4, {1: {"cpu": "4"}}) == {}
    assert decided(3, {7: {"cpu": "3"}}) == {}


@pytest.mark.parametrize(
    "hint", ["{", "[]", {"nodeNames": ["n"] * 101}, {"extensions": {str(number): {} for number in range(101)}}]
)
def test_a_hint_that_cannot_be_read(hint: Any) -> None:
    """The pod waits, and the reason names the annotation."""
    assert f"annotation {HINT}: " in run(hinted(node(), "0,4", hint=hint)).why_pod("p-0")


def test_extensions_have_any_value() -> None:
    """Only their names count."""
    assert cpus_of(run(hinted(node(), "2,7", hint={"extensions": {"NodeNUMAResource": [1], "x": "y"}}))) == "2,7"


def test_decided_cpus_of_a_reservation() -> None:
    """The owner gets CPUs of its Reservation that are decided, and a stranger does not."""
    told = {STATUS: json.dumps({"cpuset": "2-3,6-7"})}
    there = node().add(reservation("r", node="n1", cpu=4, annotations=told, labels={QOS: "LSR"}))
    plugins = ("gang", "predicates", "nodenuma", "reservation")
    owner = hinted(there, "3,6", labels={"app": "a"}, annotations=affinity())

    assert cpus_of(run(owner, plugins=plugins)) == "3,6"
    assert run(hinted(there, "3,6"), plugins=plugins).bindings == {}


def with_gpu(
    minor: int, *, cards: int = 1, hint: Any = None, name: str = "p", base: Scenario | None = None
) -> Scenario:
    """Add a pod with a GPU that is decided, on two nodes of three GPUs."""
    there: Scenario | None = base
    if there is None:
        there = Scenario()
        for each in ("n1", "n2"):
            there = there.node(each, cpu=8, resources={NVIDIA: 3}).add(device(each, gpu(0), gpu(1), gpu(2)))
    amounts = {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": "100"}
    told = {"gpu": [{"minor": minor, "resources": amounts}]}
    hint = {"extensions": {"DeviceShare": {}}} if hint is None else hint
    annotations = {HINT: json.dumps(hint), DEVICES: json.dumps(told)}
    return there.job(name, tasks=1, min_available=1, cpu=1, resources={NVIDIA: cards}, annotations=annotations)


def minors(scenario: Scenario) -> dict[str, list[int]]:
    """Return the GPUs of the pods that are bound."""
    outcome = scenario.run(
        "allocate",
        plugins=("gang", "predicates", "deviceshare"),
        arguments={"deviceshare": {"deviceshare.KoordinatorEnable": True}},
    )
    assert outcome.failed_plugins == []
    binds = [bind for each in outcome.rounds for plan in each.plans for bind in plan.binds]
    return {f"{bind.name} {bind.node}": minors_of(bind.annotations[DEVICES]) for bind in binds}


def minors_of(text: str) -> list[int]:
    """Return the GPUs that an annotation names."""
    return [each["minor"] for each in json.loads(text)["gpu"]]


def test_a_pod_gets_the_gpu_that_is_decided() -> None:
    """The first GPUs are free. Without the hint of this plugin the decision does not count."""
    assert minors(with_gpu(2)) == {"p-0 n1": [2]}
    assert minors(with_gpu(2, hint={"extensions": {"NodeNUMAResource": {}}})) == {"p-0 n1": [0]}
    named = {"nodeNames": ["n2"], "extensions": {"DeviceShare": {}}}
    assert minors(with_gpu(1, hint=named)) == {"p-0 n2": [1]}


def test_a_gpu_that_is_not_there_or_in_use_leaves_the_pod_waiting() -> None:
    """No other GPU is given: there is no seventh one, and two pods have one decision for two nodes."""
    assert minors(with_gpu(7)) == {}
    assert minors(with_gpu(1, cards=2)) == {}
    named = {"nodeNames": ["n2"], "extensions": {"DeviceShare": {}}}
    assert minors(with_gpu(1, hint=named, name="q", base=with_gpu(1, hint=named))) == {"p-0 n2": [1]}
