"""The law that no annotation of Koordinator's devices stops a cycle: a valid gang beside it is placed."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.devices import CORE, GIB, MEMORY, RATIO, RDMA, device, gpu, rdma
from tests.drawing import examples
from tests.laws.junk import JUNK, Path, paths, planted
from tests.unit.plugins.koordinator import run, with_devices

SOUND = with_devices(gpu(0), gpu(1), name="sound").job("sound", tasks=2, resources={"nvidia.com/gpu": 1})
PREFIX = "scheduling.koordinator.sh/"
DEVICE = device(
    "odd",
    gpu(0, at=(0, "a"), labels={"pool": "a"}),
    gpu(1, at=(1, "b")),
    rdma(0, at=(0, "a"), functions=["1", "2"]),
    annotations={},
    labels={"node.koordinator.sh/gpu-partition-policy": "Honor"},
)
TABLE = {"2": [{"minors": [0, 1], "allocationScore": 1, "ringBusBandwidth": "1Gi"}], "1": [{"minors": [0]}]}
HELD = {
    "gpu": [{"minor": 0, "id": "x", "resources": {CORE: "50", RATIO: 50, MEMORY: 40 * GIB}}],
    "rdma": [{"minor": 0, "resources": {RDMA: "1"}, "extension": {"vfs": [{"minor": 1, "busID": "1"}]}}],
}
WISHES = {
    "device-allocate-hint": {
        "gpu": {"selector": {"matchLabels": {"pool": "a"}}, "requiredTopologyScope": "PCIe"},
        "rdma": {"vfSelector": {"matchExpressions": [{"key": "type", "operator": "Exists"}]}},
    },
    "device-joint-allocate": {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"},
    "gpu-partition-spec": {"allocatePolicy": "Restricted", "ringBusBandwidth": "1"},
    "numa-topology-spec": {"numaTopologyPolicy": "SingleNUMANode"},
}
TEMPLATES = {"huawei-Ascend": {"vir01": {"huawei.com/npu-core": "1", MEMORY: "3Gi"}}}
ODD: tuple[dict[str, Any], ...] = (
    DEVICE,
    {"table": TABLE},
    {"held": HELD},
    {"wishes": WISHES},
    {"asked": {RATIO: "50", RDMA: "1"}},
    {"templates": TEMPLATES},
    {"labels": {"node.koordinator.sh/numa-topology-policy": "Restricted", "node.koordinator.sh/gpu-model": "H800"}},
)
NEEDED = {
    ("kind",),
    ("apiVersion",),
    ("metadata",),
    ("metadata", "name"),
    *((each,) for part in ODD[1:] for each in part),
}
PLACES = [(number, path) for number, each in enumerate(ODD) for path in paths(each) if path not in NEEDED]
TEMPLATES_CONFIG: Any = {"gpuSharedResourceTemplatesConfig": {}}


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK), max_size=5))
def test_no_value_stops_a_cycle(changes: list[tuple[tuple[int, Path], Any]]) -> None:
    """Whatever stands in Devices, annotations, labels, requests and templates."""
    told, table, held, wishes, asked, templates, labels = planted(ODD, changes)
    metadata = told["metadata"]
    if isinstance(metadata.get("annotations"), dict):
        metadata["annotations"] = {**metadata["annotations"], f"{PREFIX}gpu-partitions": json.dumps(table["table"])}
    notes = {f"{PREFIX}{name}": json.dumps(wish) for name, wish in wishes["wishes"].items()}
    there = (
        SOUND.node("odd", labels={name: text for name, text in labels["labels"].items() if isinstance(text, str)})
        .add(told)
        .running("runs", on=["odd"], annotations={**notes, f"{PREFIX}device-allocated": json.dumps(held["held"])})
        .job("odd", resources=asked["asked"], annotations=notes)
        .add(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "gpu-shared-resource-templates", "namespace": "koordinator-system"},
                "data": {"data.yaml": json.dumps(templates["templates"])},
            }
        )
    )
    outcome = run(there, **TEMPLATES_CONFIG)

    assert outcome.failed_plugins == []
    assert {"sound-0", "sound-1"} <= outcome.bindings.keys()
