"""NodeResourceTopologies and pods with CPUs of their own, in a few words, for tests of any kind."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyroclast.testing import Outcome, Scenario

NODE = "node.koordinator.sh/"
S = "scheduling.koordinator.sh/"
STATUS = f"{S}resource-status"
SPEC = f"{S}resource-spec"
NUMA = f"{S}numa-topology-spec"
QOS = "koordinator.sh/qosClass"

Object = dict[str, Any]
Place = tuple[int, int, int]
"""NUMA node, socket and core of a CPU."""


def places(sockets: int, numa_nodes: int, cores: int, threads: int = 2) -> dict[int, Place]:
    """CPUs of a machine: the second CPUs of all cores come after all first ones, as Linux numbers them.

    Args:
        sockets: Number of sockets.
        numa_nodes: NUMA nodes of each socket.
        cores: Cores of each NUMA node.
        threads: CPUs of each core.
    """
    total = sockets * numa_nodes * cores
    return {
        thread * total + core: (core // cores, core // (cores * numa_nodes), core % (cores * numa_nodes))
        for thread in range(threads)
        for core in range(total)
    }


LARGE = places(2, 2, 4)
"""Two sockets of two NUMA nodes of four cores of two CPUs: 32 CPUs; core n has the CPUs n and n + 16."""
SMALL = places(2, 1, 2)
"""Two sockets, each one NUMA node of two cores of two CPUs: 8 CPUs; core n has the CPUs n and n + 4."""


def topology(
    name: str,
    cpus: Mapping[int, Place] | None = None,
    *,
    memory: str = "64Gi",
    policies: Sequence[str] = (),
    zones: Sequence[Mapping[str, str]] | None = None,
    resources: Mapping[str, str] | None = None,
    **annotations: Any,
) -> Object:
    """A NodeResourceTopology.

    Args:
        name: Name of the node.
        cpus: Its CPUs; those of `SMALL` where None.
        memory: Memory of each NUMA node.
        policies: Topology policies.
        zones: Amounts by NUMA node; CPU by the number of its CPUs and `memory` where None.
        resources: More resources of each NUMA node.
        annotations: Values, which are written as JSON, by name with `_` for `-`: `pod_cpu_allocs`.
    """
    detail = SMALL if cpus is None else cpus
    counts: dict[int, int] = {}
    for numa, _, _ in detail.values():
        counts[numa] = counts.get(numa, 0) + 1
    offered = zones or [{"cpu": str(counts[numa]), "memory": memory, **(resources or {})} for numa in sorted(counts)]
    listed = [{"id": cpu, "core": core, "socket": socket, "node": numa} for cpu, (numa, socket, core) in detail.items()]
    prefixes = {"cpu_manager_policy": "kubelet.koordinator.sh/"}
    told = {f"{prefixes.get(key, NODE)}{key.replace('_', '-')}": json.dumps(each) for key, each in annotations.items()}
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha1",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name, "annotations": {f"{NODE}cpu-topology": json.dumps({"detail": listed}), **told}},
        "topologyPolicies": list(policies),
        "zones": [
            {
                "name": f"node-{number}",
                "type": "Node",
                "resources": [
                    {"name": each, "capacity": amount, "allocatable": amount, "available": amount}
                    for each, amount in amounts.items()
                ],
            }
            for number, amounts in enumerate(offered)
        ],
    }


def node(
    name: str = "n1",
    cpus: Mapping[int, Place] | None = None,
    *,
    base: Scenario | None = None,
    labels: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
    offers: int | None = None,
    **more: Any,
) -> Scenario:
    """Add a node with its topology; labels by their short names, `notes` are annotations of the Node."""
    there = SMALL if cpus is None else cpus
    named = {f"{NODE}{key}": value for key, value in (labels or {}).items()}
    told = {f"{NODE}{key}": value for key, value in (notes or {}).items()}
    scenario = (base or Scenario()).node(
        name, cpu=len(there) if offers is None else offers, memory="256Gi", labels=named, annotations=told
    )
    return scenario.add(topology(name, there, **more))


def policies(
    required: str = "", preferred: str = "", exclusive: str = "", numa: str = "", numa_exclusive: str = ""
) -> dict[str, str]:
    """Annotations of a pod."""
    spec = {
        "requiredCPUBindPolicy": required,
        "preferredCPUBindPolicy": preferred,
        "preferredCPUExclusivePolicy": exclusive,
    }
    spec = {key: value for key, value in spec.items() if value}
    aligned = {"numaTopologyPolicy": numa, "singleNUMANodeExclusive": numa_exclusive}
    aligned = {key: value for key, value in aligned.items() if value}
    return {**({SPEC: json.dumps(spec)} if spec else {}), **({NUMA: json.dumps(aligned)} if aligned else {})}


def pinned(scenario: Scenario, name: str, cpu: Any = 4, *, qos: str = "LSR", **more: Any) -> Scenario:
    """Add a job of pods with CPUs of their own; `more` are policies and arguments of `Scenario.job`."""
    given = {
        key: more.pop(key) for key in ("required", "preferred", "exclusive", "numa", "numa_exclusive") if key in more
    }
    given_tasks = {
        "tasks": 1,
        "min_available": 1,
        **{key: more.pop(key) for key in ("tasks", "min_available") if key in more},
    }
    return scenario.job(name, **given_tasks, cpu=cpu, labels={QOS: qos}, annotations=policies(**given), **more)


def holding(
    scenario: Scenario,
    name: str,
    cpus: str,
    count: int,
    *,
    on: str = "n1",
    amounts: Mapping[int, Any] | None = None,
    **more: Any,
) -> Scenario:
    """Add a running pod with CPUs of its own, as its annotation says."""
    status = {
        "cpuset": cpus,
        "numaNodeResources": [{"node": numa, "resources": each} for numa, each in (amounts or {}).items()],
    }
    given = {
        key: more.pop(key) for key in ("required", "preferred", "exclusive", "numa", "numa_exclusive") if key in more
    }
    annotations = {**policies(**given), STATUS: json.dumps(status)}
    return scenario.running(name, on=[on], cpu=count, labels={QOS: "LSR"}, annotations=annotations, **more)


def run(
    scenario: Scenario,
    *actions: str,
    plugins: Sequence[Any] = ("gang", "predicates", "nodenuma"),
    cycles: int = 1,
    later: Mapping[int, Scenario] | None = None,
    more: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> Outcome:
    """Decide with nodenuma; arguments as they are spelled."""
    return scenario.run(
        *(actions or ("allocate",)),
        plugins=plugins,
        arguments={"nodenuma": arguments, **(more or {})},
        cycles=cycles,
        later=later,
    )


def status_of(outcome: Outcome, pod: str = "p-0") -> dict[str, Any]:
    """What the binding of a pod says about CPUs and NUMA nodes; empty without one."""
    return _json(outcome, pod, STATUS)


def spec_of(outcome: Outcome, pod: str = "p-0") -> dict[str, Any]:
    """The CPU policies that the binding of a pod completes."""
    return _json(outcome, pod, SPEC)


def cpus_of(outcome: Outcome, pod: str = "p-0") -> str:
    """The CPUs of a pod; empty without any."""
    return str(status_of(outcome, pod).get("cpuset", ""))


def _json(outcome: Outcome, pod: str, key: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in outcome.rounds:
        for plan in each.plans:
            for bind in plan.binds:
                if bind.name == pod and key in bind.annotations:
                    found = json.loads(bind.annotations[key])
    return found


def topology_definition() -> Object:
    """The kind as Koordinator defines it, in short."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "noderesourcetopologies.topology.node.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/1870"},
        },
        "spec": {
            "group": "topology.node.k8s.io",
            "scope": "Cluster",
            "names": {
                "plural": "noderesourcetopologies",
                "singular": "noderesourcetopology",
                "kind": "NodeResourceTopology",
                "listKind": "NodeResourceTopologyList",
            },
            "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": schema}],
        },
    }
