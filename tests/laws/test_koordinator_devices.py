"""The law that no annotation of Koordinator's devices stops a cycle: a valid gang beside it is placed.

Annotations for device plugins of vendors name the devices that a pod has, and one pod at a time is bound to a node that
is locked for it.
"""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.model.quantity import units as read_bytes
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
VENDORS = ("", "nvidia", "huawei", "cambricon", "metax", "unknown")
VENDOR = "node.koordinator.sh/gpu-vendor"
ADAPTS: Any = {"deviceshare.DevicePluginAdaption": True}
LOCKS = st.sampled_from(["", "soon", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z,default,runs-0", ",,", ",,,"]) | (
    st.text(max_size=20)
)
TEMPLATES_CONFIG: Any = {"gpuSharedResourceTemplatesConfig": {}}


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK), max_size=5), st.sampled_from(VENDORS), LOCKS)
def test_no_value_stops_a_cycle(changes: list[tuple[tuple[int, Path], Any]], vendor: str, lock: str) -> None:
    """Whatever stands in Devices, annotations, labels, requests, templates and locks."""
    told, table, held, wishes, asked, templates, labels = planted(ODD, changes)
    metadata = told["metadata"]
    if isinstance(metadata.get("labels"), dict) and vendor:
        metadata["labels"] = {**metadata["labels"], VENDOR: vendor}
    if isinstance(metadata.get("annotations"), dict):
        metadata["annotations"] = {**metadata["annotations"], f"{PREFIX}gpu-partitions": json.dumps(table["table"])}
    notes = {f"{PREFIX}{name}": json.dumps(wish) for name, wish in wishes["wishes"].items()}
    there = (
        SOUND.node(
            "odd",
            labels={name: text for name, text in labels["labels"].items() if isinstance(text, str)},
            annotations=dict.fromkeys(("cambricon.com/dsmlu.lock", "hami.io/mutex.lock"), lock),
        )
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
    outcome = run(there, **TEMPLATES_CONFIG, **ADAPTS)

    assert outcome.failed_plugins == []
    assert {"sound-0", "sound-1"} <= outcome.bindings.keys()


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    vendors=st.lists(st.sampled_from(VENDORS), min_size=1, max_size=3),
    requests=st.lists(
        st.sampled_from(
            [
                {"nvidia.com/gpu": 1},
                {"nvidia.com/gpu": 2},
                {CORE: 30, MEMORY: "3Gi"},
                {CORE: 30, MEMORY: "100Mi"},
                {RATIO: 40},
                {"koordinator.sh/gpu.shared": 2, CORE: 20, RATIO: 40},
                {RDMA: 30},
            ]
        ),
        min_size=1,
        max_size=5,
    ),
)
def test_vendors_are_told_the_allocated_devices(vendors: list[str], requests: list[Any]) -> None:
    """Each annotation agrees with `device-allocated`, whichever vendor the node has."""
    there, node_of_vendor = None, {f"n{number}": vendor for number, vendor in enumerate(vendors)}
    for name, vendor in node_of_vendor.items():
        own = {"labels": {VENDOR: vendor}} if vendor else {}
        there = with_devices(gpu(0), gpu(1), rdma(0), name=name, base=there, own=own)
    assert there is not None
    for number, each in enumerate(requests):
        there = there.job(f"p{number}", resources=each)
    outcome = run(there, **ADAPTS)
    binds = [bind for plan in outcome.report.plans for bind in plan.binds]
    locked = [bind.node for bind in binds if bind.preparations]

    assert len({*locked}) == len(locked)
    for bind in binds:
        held, vendor = json.loads(bind.annotations[f"{PREFIX}device-allocated"]), node_of_vendor[bind.node]
        gpus = held.get("gpu", [])
        minors = ",".join(str(each["minor"]) for each in gpus)
        told = {key: text for key, text in bind.annotations.items() if not key.startswith(PREFIX)}

        assert bind.annotations.get(f"{PREFIX}gpu-minors", "") == minors
        assert bool(bind.preparations) is (vendor in {"cambricon", "metax"} and bool(gpus))
        if not gpus or vendor not in {"huawei", "cambricon", "metax"}:
            assert told == {}
        elif vendor == "huawei":
            assert told.pop("predicate-time")
            assert told == {"huawei.com/npu-core": minors}
        elif vendor == "cambricon":
            (gpu_held,) = gpus
            core, memory = gpu_held["resources"][CORE], read_bytes(gpu_held["resources"][MEMORY])
            assert told["CAMBRICON_DSMLU_PROFILE"] == f"{minors}_{core}_{memory // (256 * 2**20)}"
        else:
            (parts,) = json.loads(told["metax-tech.com/gpu-devices-allocated"])
            assert [(each["uuid"], each["compute"], each["vRam"]) for each in parts] == [
                (each["id"], int(each["resources"][CORE]), read_bytes(each["resources"][MEMORY]) // 2**20)
                for each in gpus
            ]
