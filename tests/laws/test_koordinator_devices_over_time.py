"""The law that no device has more holders than it can bear, whatever pods come and go, whichever devices fall ill."""

import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.testing import Outcome, Scenario
from tests.devices import device
from tests.drawing import examples
from tests.unit.plugins.koordinator import ALLOCATED, EIGHT, FOUR, GENERAL, NAMES, TOGETHER, annotated, run

PLUGINS = (("priority", "conformance"), ("gang", "predicates", "deviceshare"))
NODES = {"a": FOUR, "b": (*EIGHT[:2], *EIGHT[8:9])}
ASKED = st.sampled_from(
    [
        {"nvidia": 1},
        {"nvidia": 2},
        {"ratio": 40},
        {"core": 50, "ratio": 50},
        {"memory": "30Gi"},
        {"shared": 2, "ratio": 120},
        {"rdma": 60},
        {"nvidia": 2, "rdma": 1},
        {"ratio": 50, "rdma": 1},
    ]
)
WISHES = st.sampled_from(
    [
        {},
        {},
        {"hint": GENERAL, "joint": TOGETHER},
        {"joint": {**TOGETHER, "requiredScope": "SamePCIe"}},
        {"hint": {"gpu": {"exclusivePolicy": "PCIeLevel"}}},
        {"numa": {"numaTopologyPolicy": "SingleNUMANode"}},
    ]
)
COMING = st.tuples(st.just("comes"), ASKED, WISHES, st.integers(2, 4), st.sampled_from([0, 100]))
GOING = st.tuples(st.just("goes"), st.integers(0, 99))
FALLING_ILL = st.tuples(st.just("ill"), st.sampled_from("ab"), st.sets(st.integers(0, 5), max_size=2))
DAYS = st.lists(st.lists(st.one_of(COMING, COMING, GOING, FALLING_ILL), min_size=1, max_size=4), min_size=3, max_size=6)


class Life:
    """A cluster that goes on from cycle to cycle."""

    def __init__(self) -> None:
        """Begin with nodes, and without pods."""
        self.base = Scenario().priority_class("high", 100)
        for name in NODES:
            self.base = self.base.node(name, cpu=64, resources={"nvidia.com/gpu": 8})
        self.ill: dict[str, set[int]] = {name: set() for name in NODES}
        self.pods: dict[str, Any] = {}
        self.groups: list[Any] = []
        self.count = 0

    def live(self, happening: Any) -> None:
        """Let something happen."""
        match happening:
            case ("comes", asked, wishes, tasks, priority):
                self.count += 1
                named = {NAMES[name]: amount for name, amount in asked.items()}
                made = Scenario().job(
                    f"j{self.count}",
                    tasks=tasks,
                    resources=named,
                    annotations=annotated(**wishes),
                    priority=priority,
                    priority_class="high" if priority else "",
                    phase="Inqueue",
                )
                for each in made.objects:
                    if each["kind"] == "Pod":
                        self.pods[each["metadata"]["name"]] = each
                    else:
                        self.groups.append(each)
            case ("goes", number):
                there = sorted(name for name, pod in self.pods.items() if pod["spec"]["nodeName"])
                if there:
                    del self.pods[there[number % len(there)]]
            case ("ill", node, devices):
                self.ill[node] = devices

    def devices(self, node: str) -> list[Any]:
        """What the Device of a node tells now."""
        return [{**each, "health": number not in self.ill[node]} for number, each in enumerate(NODES[node])]

    def decide(self) -> Outcome:
        """Run a cycle, and let everything happen that it decides."""
        told = [device(name, *self.devices(name)) for name in NODES]
        there = Scenario((*self.base.objects, *told, *self.groups, *self.pods.values()))
        outcome = run(there, "allocate", "preempt", plugins=PLUGINS)
        for done in outcome.rounds:
            for plan in done.plans:
                for eviction in plan.evictions:
                    del self.pods[eviction.name]
                for bind in plan.binds:
                    self._bind(bind.name, str(bind.node), dict(bind.annotations))
        return outcome

    def _bind(self, name: str, node: str, annotations: dict[str, str]) -> None:
        pod = self.pods[name]
        metadata = {**pod["metadata"], "annotations": {**pod["metadata"]["annotations"], **annotations}}
        spec, status = {**pod["spec"], "nodeName": node}, {"phase": "Running"}
        self.pods[name] = {**pod, "metadata": metadata, "spec": spec, "status": status}
        well = {(each["type"], each["minor"]) for each in self.devices(node) if each["health"]}
        told = json.loads(annotations[ALLOCATED])
        given_ = {(kind, each["minor"]) for kind, devices in told.items() for each in devices}
        assert given_ <= well, f"{name} was given devices of {node} that are not well"

    def check(self) -> None:
        """Compare what pods have with what there is."""
        for node, devices in NODES.items():
            taken: Counter[tuple[str, int, str]] = Counter()
            functions: Counter[str] = Counter()
            for pod in self.pods.values():
                if pod["spec"]["nodeName"] == node:
                    _count(pod, taken, functions)
            for each in devices:
                for name, amount in each["resources"].items():
                    assert taken[each["type"], each["minor"], name] <= _number(amount), (node, each["minor"], name)
            assert set(functions.values()) <= {1}, "a virtual function has two holders"


def _count(pod: Any, taken: Counter[tuple[str, int, str]], functions: Counter[str]) -> None:
    for kind, devices in json.loads(pod["metadata"]["annotations"][ALLOCATED]).items():
        for each in devices:
            for name, amount in each["resources"].items():
                taken[kind, each["minor"], name] += _number(amount)
            functions.update(function["busID"] for function in each.get("extension", {}).get("vfs", ()))


def _number(text: str) -> int:
    for suffix, factor in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) * factor
    return int(text)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(DAYS)
def test_no_device_is_promised_twice(days: list[list[Any]]) -> None:
    """Cycle after cycle: gangs, victims, shares and whole devices, at nodes of two builds."""
    life = Life()
    for day in days:
        for happening in day:
            life.live(happening)
        outcome = life.decide()
        assert outcome.failed_plugins == []
        life.check()
