"""The law that data of the cluster never crash a cycle: any value in any field, and a sound job beside it runs."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.cycles import built_in, configuration, everything
from pyroclast.cache.options import StateOptions
from pyroclast.framework.cycle import run_cycle
from pyroclast.model.gangs.names import LABEL_MIN_AVAILABLE, TOPOLOGY_INDEX, TOTAL_NUMBER, WAITING_TIME
from pyroclast.plugins.coscheduling import gang_rules
from pyroclast.scheduler.simulation.cluster import SimulatedCluster
from pyroclast.testing import Scenario
from tests.drawing import examples
from tests.gangs import annotated, described_by, gang_pod_group
from tests.laws.junk import JUNK, Path, paths, planted

NOW = 1_800_000_000.0
CONFIGURATION = everything().replace("backfill", "backfill, preempt, reclaim, gangpreempt, gangreclaim, shuffle")
REGISTRY = built_in()
PARSED = configuration(REGISTRY, CONFIGURATION)

SOUND = Scenario().queue("default").queue("root").node("sound", cpu=2000).job("sound", tasks=2, min_available=2, cpu=1)
"""So much room that nothing odd can fill it by accident."""
ODD: tuple[dict[str, Any], ...] = (
    {
        "kind": "Node",
        "metadata": {
            "name": "odd",
            "labels": {"zone": "a", "volcano.sh/nodegroup-name": "g"},
            "annotations": {"volcano.sh/oversubscription": "x", "volcano.sh/revocable-zone": "z"},
        },
        "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}], "unschedulable": False},
        "status": {
            "allocatable": {"cpu": "4", "memory": "1Gi", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": ["a"], "sizeBytes": 1}],
        },
    },
    {
        "kind": "Queue",
        "metadata": {
            "name": "odd",
            "annotations": {"volcano.sh/hierarchy": "root/a", "volcano.sh/hierarchy-weights": "1/2"},
        },
        "spec": {
            "weight": 1,
            "parent": "root",
            "capability": {"cpu": "4"},
            "deserved": {"cpu": "2"},
            "guarantee": {"resource": {"cpu": "1"}},
            "reclaimable": True,
            "priority": 1,
            "affinity": {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["g"]}},
        },
        "status": {"state": "Open", "allocated": {"cpu": "1"}},
    },
    {
        "kind": "PodGroup",
        "metadata": {
            "name": "odd",
            "namespace": "default",
            "annotations": {
                "volcano.sh/sla-waiting-time": "1h",
                "volcano.sh/task-topology-affinity": "a,b",
                "volcano.sh/jdb-min-available": "1",
            },
        },
        "spec": {
            "minMember": 1,
            "queue": "odd",
            "minResources": {"cpu": "1"},
            "minTaskMember": {"a": 1},
            "networkTopology": {"mode": "soft", "highestTierAllowed": 1},
            "subGroupPolicy": [{"name": "s", "subGroupSize": 1, "labelSelector": {"matchLabels": {"a": "b"}}}],
            "priorityClassName": "p",
        },
        "status": {"phase": "Pending", "conditions": [{"type": "Unschedulable", "status": "True"}]},
    },
    {
        "kind": "Pod",
        "metadata": {
            "name": "odd-a-0",
            "namespace": "default",
            "uid": "odd-0",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"a": "b"},
            "annotations": {
                "scheduling.k8s.io/group-name": "odd",
                "volcano.sh/task-spec": "a",
                "volcano.sh/preemptable": "true",
                "volcano.sh/cooldown-time": "1m",
                "volcano.sh/revocable-zone": "*",
                "volcano.sh/task-priority": "3",
            },
        },
        "spec": {
            "schedulerName": "volcano",
            "priority": 1,
            "nodeSelector": {"zone": "a"},
            "tolerations": [{"key": "k", "operator": "Exists"}],
            "overhead": {"cpu": "1m"},
            "containers": [{"name": "c", "ports": [{"hostPort": 80}], "resources": {"requests": {"cpu": "1"}}}],
            "initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                        ]
                    }
                },
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
                    ]
                },
            },
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
            ],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
            "resourceClaims": [{"name": "r", "resourceClaimName": "r"}],
        },
        "status": {"phase": "Pending", "nominatedNodeName": "odd"},
    },
    *(
        {
            "kind": "Pod",
            "metadata": {
                "name": f"odd-{node or 'nowhere'}",
                "namespace": "default",
                "uid": f"aligned-{node}",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {
                    "scheduling.k8s.io/group-name": "odd",
                    "volcano.sh/numa-topology-policy": "restricted",
                },
            },
            "spec": {
                "schedulerName": "volcano",
                "nodeName": node,
                "containers": [
                    {
                        "name": "c",
                        "resources": {
                            "requests": {"cpu": "1", "memory": "1Mi"},
                            "limits": {"cpu": "1", "memory": "1Mi"},
                        },
                    }
                ],
            },
            "status": {"phase": "Running" if node else "Pending", "qosClass": "Guaranteed"},
        }
        for node in ("", "odd")
    ),
    {
        "kind": "Numatopology",
        "metadata": {"name": "odd"},
        "spec": {
            "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "restricted"},
            "numares": {"cpu": {"allocatable": "0,2-3", "capacity": 4}},
            "cpuDetail": {str(cpu): {"numa": cpu % 2, "socket": 0, "core": cpu} for cpu in range(4)},
            "resReserved": {"cpu": "500m"},
            "podAllocations": [
                {
                    "uid": "u",
                    "namespace": "default",
                    "name": "p",
                    "containerAllocations": [{"name": "c", "allocations": {"cpu": "1"}}],
                }
            ],
        },
    },
    {
        "kind": "HyperNode",
        "metadata": {"name": "odd"},
        "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"regexMatch": {"pattern": "^o"}}}]},
    },
    {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "odd", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 1},
    },
    {"kind": "PriorityClass", "metadata": {"name": "p"}, "value": 10, "preemptionPolicy": "Never"},
    {
        "kind": "ResourceQuota",
        "metadata": {"name": "odd", "namespace": "elsewhere"},
        "spec": {"hard": {"cpu": "1"}},
        "status": {"hard": {"cpu": "1"}, "used": {"cpu": "1"}},
    },
    {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"storageClassName": "s", "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Pending"},
    },
    {
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "2Gi"},
            "storageClassName": "s",
            "accessModes": ["ReadWriteOnce"],
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
                }
            },
        },
        "status": {"phase": "Available"},
    },
    {
        "kind": "StorageClass",
        "metadata": {"name": "s"},
        "provisioner": "driver",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}],
    },
    {
        "kind": "CSINode",
        "metadata": {"name": "odd"},
        "spec": {
            "drivers": [{"name": "driver", "nodeID": "odd", "topologyKeys": ["zone"], "allocatable": {"count": 1}}]
        },
    },
    {"kind": "CSIDriver", "metadata": {"name": "driver"}, "spec": {"storageCapacity": True}},
    {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "c", "namespace": "default"},
        "storageClassName": "s",
        "capacity": "1Gi",
        "maximumVolumeSize": "1Gi",
        "nodeTopology": {"matchLabels": {"zone": "a"}},
    },
    {
        "kind": "ResourceClaim",
        "metadata": {"name": "r", "namespace": "default"},
        "spec": {
            "devices": {
                "requests": [
                    {"name": "g", "exactly": {"deviceClassName": "d", "count": 1, "allocationMode": "ExactCount"}}
                ]
            }
        },
    },
    {"kind": "DeviceClass", "metadata": {"name": "d"}, "spec": {"extendedResourceName": "example.com/d"}},
    {
        "kind": "ResourceSlice",
        "metadata": {"name": "odd"},
        "spec": {
            "driver": "driver",
            "nodeName": "odd",
            "pool": {"name": "p"},
            "devices": [{"name": "0", "capacity": {"m": {"value": "1Gi"}}}],
        },
    },
    {"kind": "NodeShard", "metadata": {"name": "volcano"}, "spec": {"nodesDesired": ["odd"]}},
    gang_pod_group("ganged", 1, seconds=5, mode="NonStrict", groups=["default/ganged", "default/by-pods"]),
    *(
        {
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": name,
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": labels,
                "annotations": annotated(
                    "by-pods",
                    1,
                    policy="only-waiting",
                    groups=["default/ganged", "default/by-pods"],
                    more={WAITING_TIME: "5s", TOTAL_NUMBER: "2", TOPOLOGY_INDEX: "1"},
                ),
            },
            "spec": {
                "schedulerName": "volcano",
                "nodeName": node,
                "priority": 1,
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
            },
            "status": {"phase": "Running" if node else "Pending"},
        }
        for name, labels, node in (
            ("member", described_by("ganged"), ""),
            ("describing", {}, ""),
            ("placed", {LABEL_MIN_AVAILABLE: "1"}, "odd"),
        )
    ),
)


NEEDED = {("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace")}
"""Without these it is not an object at all."""
PLACES = [
    (number, path)
    for number, each in enumerate(ODD)
    for path in paths(each)
    if path not in NEEDED
    and (each["kind"], *path[:2]) != ("Queue", "spec", "guarantee")  # may rightly leave nothing to others
]


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK), max_size=6))
def test_no_value_in_any_field_stops_a_cycle(changes: list[tuple[tuple[int, Path], Any]]) -> None:
    """Whatever stands in nodes, queues, groups, pods and their kin, the sound gang beside them is placed."""
    cluster = SimulatedCluster(
        [*SOUND.objects, *planted(ODD, changes)], StateOptions(), report=lambda _: None, note=lambda _: None
    )
    cluster.follow_gangs(gang_rules(PARSED.profiles[0]))
    report, _ = run_cycle(cluster.snapshot(), PARSED, registry=REGISTRY, now=NOW)
    failures = [sample for sample in report.samples if sample.metric == "plugin_failures_total"]

    assert failures == []
    assert {"sound-0", "sound-1"} <= {bind.name for plan in report.plans for bind in plan.binds}
