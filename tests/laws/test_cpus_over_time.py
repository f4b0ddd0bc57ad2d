"""The law that no CPU is given twice and no policy violated, whatever pods come and go, however topologies change."""

import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.model.cpusets import members, read_cpu_set
from pyroclast.model.quantity import millis
from pyroclast.testing import Outcome, Scenario
from tests.devices import NVIDIA, device, gpu
from tests.drawing import examples
from tests.nodenuma import LARGE, NODE, NUMA, QOS, SMALL, SPEC, STATUS, places, policies, run, topology
from tests.reservations import ALLOCATED, reservation

PLUGINS = (("priority", "conformance"), ("gang", "predicates", "deviceshare", "nodenuma", "reservation"))
KOORDINATOR: dict[str, Any] = {"deviceshare": {"deviceshare.KoordinatorEnable": True}}
NODES: dict[str, tuple[dict[int, tuple[int, int, int]], dict[str, str], list[Any]]] = {
    "a": (LARGE, {}, [gpu(minor, at=(minor, f"p{minor}")) for minor in range(4)]),
    "b": (SMALL, {"cpu-bind-policy": "FullPCPUsOnly"}, []),
    "c": (places(1, 2, 3), {"numa-topology-policy": "Restricted", "numa-allocate-strategy": "MostAllocated"}, []),
    "d": (places(2, 1, 4, threads=1), {"cpu-bind-policy": "SpreadByPCPUs"}, []),
}
"""CPUs, labels and GPUs of each node."""
COMING = st.tuples(
    st.just("comes"),
    st.sampled_from([1, 2, 2, 3, 4, 4, 6, 8, 12]),
    st.sampled_from(["LSR", "LSE", "LSR", "LS"]),
    st.fixed_dictionaries(
        {
            "required": st.sampled_from(["", "", "FullPCPUs", "SpreadByPCPUs"]),
            "preferred": st.sampled_from(["", "SpreadByPCPUs"]),
            "exclusive": st.sampled_from(["", "", "PCPULevel", "NUMANodeLevel"]),
            "numa": st.sampled_from(["", "", "SingleNUMANode", "Restricted", "BestEffort"]),
            "numa_exclusive": st.sampled_from(["", "Preferred"]),
        }
    ),
    st.integers(1, 3),
    st.sampled_from([0, 100]),
    st.sampled_from([0, 0, 1]),
    st.booleans(),
)
KEEPING = st.tuples(
    st.just("keeps"),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(["LSR", "LS"]),
    st.sampled_from(["Aligned", "Restricted"]),
)
GOING = st.tuples(st.just("goes"), st.integers(0, 99))
LEAVING = st.tuples(st.just("leaves"), st.integers(0, 99))
RESERVING = st.tuples(st.just("reserves"), st.sampled_from("abcd"), st.sampled_from(["", "0", "0-1", "2"]))
DAYS = st.lists(
    st.lists(st.one_of(COMING, COMING, COMING, GOING, LEAVING, RESERVING, KEEPING), min_size=3, max_size=8),
    min_size=3,
    max_size=6,
)


class Life:
    """A cluster that goes on from cycle to cycle."""

    def __init__(self) -> None:
        """Begin with nodes, and without pods."""
        self.base = Scenario().priority_class("high", 100)
        for name, (cpus, labels, gpus) in NODES.items():
            named = {f"{NODE}{key}": value for key, value in labels.items()}
            offered = {NVIDIA: len(gpus)} if gpus else None
            self.base = self.base.node(name, cpu=len(cpus), memory="512Gi", labels=named, resources=offered)
            if gpus:
                self.base = self.base.add(device(name, *gpus))
        self.reserved = dict.fromkeys(NODES, "")
        self.pods: dict[str, Any] = {}
        self.reservations: dict[str, Any] = {}
        self.groups: list[Any] = []
        self.count = 0

    def live(self, happening: Any) -> None:
        """Let something happen."""
        match happening:
            case ("comes", *wanted):
                self._come(wanted)
            case ("goes", number):
                there = sorted(name for name, pod in self.pods.items() if pod["spec"]["nodeName"])
                if there:
                    del self.pods[there[number % len(there)]]
            case ("leaves", number):
                there = sorted(name for name, pod in self.pods.items() if pod["spec"]["nodeName"])
                if there:
                    pod = self.pods[there[number % len(there)]]
                    metadata = {**pod["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
                    self.pods[there[number % len(there)]] = {**pod, "metadata": metadata}
            case ("reserves", node, cpus):
                self.reserved[node] = cpus
            case ("keeps", cpu, qos, policy):
                name = f"r{len(self.reservations)}"
                labels = {"labels": {QOS: qos}}
                self.reservations[name] = reservation(
                    name, cpu=cpu, template_metadata=labels, allocateOnce=False, allocatePolicy=policy
                )

    def _come(self, wanted: list[Any]) -> None:
        cpu, qos, given_, tasks, priority, gpus, owns = wanted
        self.count += 1
        made = Scenario().job(
            f"j{self.count}",
            tasks=tasks,
            cpu=cpu,
            memory="1Gi",
            resources={NVIDIA: gpus} if gpus else None,
            labels={QOS: qos, **({"app": "a"} if owns else {})},
            annotations=policies(**given_),
            priority=priority,
            priority_class="high" if priority else "",
            phase="Inqueue",
            min_available=0 if not priority else 1,
        )
        for each in made.objects:
            if each["kind"] == "Pod":
                self.pods[each["metadata"]["name"]] = each
            else:
                self.groups.append(each)

    def decide(self) -> Outcome:
        """Run a cycle, and let everything happen that it decides; evicted pods terminate slowly."""
        known = [
            topology(name, cpus, reservation={"reservedCPUs": self.reserved[name]})
            for name, (cpus, _, _) in NODES.items()
        ]
        there = Scenario((*self.base.objects, *known, *self.reservations.values(), *self.groups, *self.pods.values()))
        outcome = run(there, "allocate", "preempt", plugins=PLUGINS, more=KOORDINATOR)
        for done in outcome.rounds:
            for plan in done.plans:
                for eviction in plan.evictions:
                    pod = self.pods[eviction.name]
                    leaving = {**pod["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
                    self.pods[eviction.name] = {**pod, "metadata": leaving}
                for bind in plan.binds:
                    if isinstance(bind.reservation, str):
                        self._keep(bind.reservation, str(bind.node), dict(bind.annotations))
                    else:
                        self._bind(bind.name, str(bind.node), dict(bind.annotations))
        return outcome

    def _keep(self, name: str, node: str, annotations: dict[str, str]) -> None:
        """Make a Reservation Available, as the scheduler does."""
        made = self.reservations[name]
        requests = made["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
        status = {"phase": "Available", "nodeName": node, "allocatable": requests}
        metadata = {**made["metadata"], "annotations": {**made["metadata"]["annotations"], **annotations}}
        self.reservations[name] = {**made, "metadata": metadata, "status": status}

    def _bind(self, name: str, node: str, annotations: dict[str, str]) -> None:
        pod = self.pods[name]
        self._check_bind(pod, node, annotations)
        metadata = {**pod["metadata"], "annotations": {**pod["metadata"]["annotations"], **annotations}}
        spec, status = {**pod["spec"], "nodeName": node}, {"phase": "Running"}
        self.pods[name] = {**pod, "metadata": metadata, "spec": spec, "status": status}

    def _check_bind(self, pod: Any, node: str, annotations: dict[str, str]) -> None:
        """Check CPUs and NUMA nodes against the policies of pod and node."""
        cpus, labels, _ = NODES[node]
        status = json.loads(annotations.get(STATUS, "{}"))
        chosen = list(members(read_cpu_set(status.get("cpuset", ""))))
        count = int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
        spec = json.loads(pod["metadata"]["annotations"].get(SPEC, "{}"))
        aligned = json.loads(pod["metadata"]["annotations"].get(NUMA, "{}")).get("numaTopologyPolicy", "")
        aligned = aligned or labels.get("numa-topology-policy", "")
        own = pod["metadata"]["labels"][QOS] in {"LSR", "LSE"} or "cpu-bind-policy" in labels
        assert len(chosen) == (count if own else 0)
        assert not set(chosen) & set(members(read_cpu_set(self.reserved[node])))
        cores = Counter(cpus[cpu][1:] for cpu in chosen)
        required = {"FullPCPUsOnly": "FullPCPUs"}.get(labels.get("cpu-bind-policy", ""), labels.get("cpu-bind-policy"))
        required = required or (spec.get("requiredCPUBindPolicy", "") if own else "")
        if required == "FullPCPUs":
            threads = len(cpus) // len({place[1:] for place in cpus.values()})
            assert set(cores.values()) <= {threads}
        elif required == "SpreadByPCPUs":
            assert set(cores.values()) <= {1}
        numa = {each["node"]: each["resources"] for each in status.get("numaNodeResources", ())}
        if aligned in {"SingleNUMANode", "Restricted"}:
            assert sum(millis(each.get("cpu", 0)) for each in numa.values()) == count * 1000
            assert aligned != "SingleNUMANode" or len(numa) == 1
            assert {cpus[cpu][0] for cpu in chosen} <= numa.keys()

    def check(self) -> None:
        """Compare the CPUs that pods have."""
        for node, (cpus, _, _) in NODES.items():
            given_: Counter[int] = Counter()
            for pod in self.pods.values():
                if pod["spec"]["nodeName"] == node:
                    status = json.loads(pod["metadata"]["annotations"].get(STATUS, "{}"))
                    given_.update(members(read_cpu_set(status.get("cpuset", ""))))
            assert set(given_.values()) <= {1}, f"a CPU of {node} has two pods"
            assert given_.keys() <= cpus.keys()
            self._check_reservations(node)

    def _check_reservations(self, node: str) -> None:
        """Compare the CPUs that Reservations keep with those of each other, and of pods that do not own them."""
        seen = 0
        for name, made in self.reservations.items():
            if made["status"].get("nodeName") != node:
                continue
            kept = _cpus(made)
            assert not kept & seen, f"two Reservations keep one CPU of {node}"
            seen |= kept
            for pod in self.pods.values():
                owned = json.loads(pod["metadata"]["annotations"].get(ALLOCATED, "{}")).get("name")
                if pod["spec"]["nodeName"] == node and owned != name:
                    assert not kept & _cpus(pod), f"a CPU that {name} keeps has another pod"


def _cpus(made: Any) -> int:
    return read_cpu_set(json.loads(made["metadata"]["annotations"].get(STATUS, "{}")).get("cpuset", ""))


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(DAYS)
def test_no_cpu_is_given_twice(days: list[list[Any]]) -> None:
    """Cycle after cycle: gangs, victims that are still terminating, reserved CPUs, devices, four builds of nodes."""
    life = Life()
    for day in days:
        for happening in day:
            life.live(happening)
        outcome = life.decide()
        assert outcome.failed_plugins == []
        life.check()
