"""Annotations and locks for device plugins of vendors, as the Device of the node names the vendor."""

import json
from typing import Any

import pytest

from pyroclast.model.plan import Bind, Preparation
from pyroclast.testing import Outcome, Scenario
from tests.devices import CORE, MEMORY, RATIO, gpu, rdma
from tests.unit.plugins.koordinator import ALLOCATED, NAMES, with_devices
from tests.unit.plugins.test_koordinator_templates import HALF, NPU, templates

NOW = 1_800_000_000.0
NANOSECONDS = 1_800_000_000_000_000_000
CAMBRICON, METAX, HUAWEI, NVIDIA = "cambricon", "metax", "huawei", "nvidia"
LOCKS = {CAMBRICON: "cambricon.com/dsmlu.lock", METAX: "hami.io/mutex.lock"}
SHARE: Any = {"core": 5, "memory": "1Gi"}
"""5 percent of the cores and 1Gi of one GPU, as in Koordinator's own example."""


def node(vendor: str, *devices: Any, model: str = "", name: str = "n", base: Scenario | None = None) -> Scenario:
    """A node with GPUs of a vendor, two of 16Gi if none are given."""
    own = {
        "labels": {
            "node.koordinator.sh/gpu-vendor": vendor,
            **({"node.koordinator.sh/gpu-model": model} if model else {}),
        }
    }
    there = devices or (gpu(0, memory="16Gi"), gpu(1, memory="16Gi"))
    return with_devices(*there, name=name, base=base, own=own)


def run(scenario: Scenario, *, adapts: bool = True, cycles: int = 1, **more: Any) -> Outcome:
    """Allocate, with annotations for the device plugins of vendors."""
    given = {"deviceshare.KoordinatorEnable": True, "deviceshare.DevicePluginAdaption": adapts, **more}
    plugins = ("gang", "predicates", "deviceshare")
    return scenario.run("allocate", plugins=plugins, arguments={"deviceshare": given}, now=NOW, cycles=cycles)


def requesting(scenario: Scenario, name: str = "p", *, tasks: int = 1, labels: Any = None, **amounts: Any) -> Scenario:
    """Add a job whose pods request devices, by short names."""
    asked = {NAMES[key]: amount for key, amount in amounts.items()}
    return scenario.job(name, tasks=tasks, min_available=1, resources=asked, labels=labels)


def bound(outcome: Outcome, pod: str = "p-0") -> Bind:
    """The bind of a pod."""
    return next(bind for plan in outcome.report.plans for bind in plan.binds if bind.name == pod)


def written(outcome: Outcome, pod: str = "p-0") -> dict[str, str]:
    """Annotations of a bind besides Koordinator's own."""
    return {key: text for key, text in bound(outcome, pod).annotations.items() if key != ALLOCATED}


EVERY = {"scheduling.koordinator.sh/bind-timestamp": str(NANOSECONDS), "scheduling.koordinator.sh/gpu-minors": "0"}


@pytest.mark.parametrize(
    ("vendor", "model", "amounts", "more"),
    [
        (NVIDIA, "", {"nvidia": 1}, {}),
        ("", "", {"nvidia": 1}, {}),
        (HUAWEI, "", {"nvidia": 1}, {"predicate-time": str(NANOSECONDS), "huawei.com/npu-core": "0"}),
        (
            HUAWEI,
            "",
            {"nvidia": 2},
            {
                "scheduling.koordinator.sh/gpu-minors": "0,1",
                "predicate-time": str(NANOSECONDS),
                "huawei.com/npu-core": "0,1",
            },
        ),
        (
            HUAWEI,
            "Ascend-310P3-300I-DUO",
            {"nvidia": 2},
            {
                "scheduling.koordinator.sh/gpu-minors": "0,1",
                "predicate-time": str(NANOSECONDS),
                "huawei.com/Ascend310P": "Ascend310P-0,Ascend310P-1",
            },
        ),
        (
            CAMBRICON,
            "",
            SHARE,
            {"CAMBRICON_DSMLU_ASSIGHED": "false", "CAMBRICON_DSMLU_PROFILE": "0_5_4"},
        ),
        (
            METAX,
            "",
            {"shared": 2, "core": 10, "memory": "2Gi"},
            {
                "scheduling.koordinator.sh/gpu-minors": "0,1",
                "metax-tech.com/gpu-devices-allocated": (
                    '[[{"uuid":"GPU-0","compute":5,"vRam":1024},{"uuid":"GPU-1","compute":5,"vRam":1024}]]'
                ),
            },
        ),
    ],
)
def test_each_vendor_gets_its_annotations(vendor: str, model: str, amounts: Any, more: Any) -> None:
    """The values are those of Koordinator's tests of its adapters."""
    assert written(run(requesting(node(vendor, model=model), **amounts))) == {**EVERY, **more}


def test_a_share_of_an_npu_names_its_template() -> None:
    """A template is named after the minor."""
    labels = {"node.koordinator.sh/gpu-vendor": "huawei", "node.koordinator.sh/gpu-model": "Ascend-310P"}
    npus = ({"type": "gpu", "minor": minor, "health": True, "resources": NPU} for minor in (3, 4))
    there = with_devices(*npus, labels=labels, own={"labels": labels})
    there = there.add(templates({"huawei-Ascend-310P": {"vir04": HALF}}))
    asked: Any = {"koordinator.sh/gpu.shared": 1, **HALF}
    outcome = run(there.job("p", resources=asked), gpuSharedResourceTemplatesConfig={})

    assert written(outcome)["huawei.com/npu-core"] == "3-vir04"


def test_pods_without_gpus_get_the_moment_alone() -> None:
    """A vendor's device plugin serves GPUs only."""
    outcome = run(requesting(node(CAMBRICON, gpu(0), rdma(0)), rdma=50))

    assert written(outcome) == {"scheduling.koordinator.sh/bind-timestamp": str(NANOSECONDS)}
    assert bound(outcome).preparations == ()


def test_the_vendor_is_that_of_the_device() -> None:
    """A label of the node alone chooses no vendor."""
    there = with_devices(gpu(0), labels={"node.koordinator.sh/gpu-vendor": HUAWEI})

    assert written(run(requesting(there, core=50, ratio=50))) == EVERY


def test_pods_of_one_cycle_have_different_moments() -> None:
    """Device plugins order the pods of their node by it."""
    outcome = run(requesting(node(HUAWEI), tasks=2, nvidia=1))

    assert {written(outcome, pod)["predicate-time"] for pod in ("p-0", "p-1")} == {
        str(NANOSECONDS),
        str(NANOSECONDS + 1),
    }


def test_by_default_nothing_is_adapted() -> None:
    """Without the argument only Koordinator's annotation is written, and no node is locked."""
    outcome = run(requesting(node(CAMBRICON), labels={"koordinator.sh/gpu-isolation-provider": "HAMi-core"}, nvidia=1))
    plain = run(requesting(node(CAMBRICON), nvidia=2), adapts=False)

    assert written(plain) == {}
    assert bound(plain).preparations == ()
    assert written(outcome)


@pytest.mark.parametrize(
    ("vendor", "amounts", "reason"),
    [
        (CAMBRICON, {"nvidia": 2}, "node(s) GPU device plugin serves pods with one GPU only"),
        (
            CAMBRICON,
            {"memory": "1Gi"},
            "node(s) GPU device plugin serves only pods that request koordinator.sh/gpu-core",
        ),
        (CAMBRICON, {"core": 5, "memory": "128Mi"}, "node(s) GPU device plugin gives larger shares of memory only"),
        (METAX, {"memory": "1Gi"}, "node(s) GPU device plugin serves only pods that request koordinator.sh/gpu-core"),
        (METAX, {"core": 5, "memory": "512Ki"}, "node(s) GPU device plugin gives larger shares of memory only"),
    ],
)
def test_nodes_whose_device_plugin_cannot_serve_a_pod_refuse_it(vendor: str, amounts: Any, reason: str) -> None:
    """Koordinator fails the bind again and again. Another node may serve the pod, and evictions do not help."""
    outcome = run(requesting(node(vendor), **amounts))
    (refusal,) = outcome.refusals_of_pod("p-0")

    assert reason in refusal.counts
    assert not refusal.resolvable
    assert run(requesting(node(NVIDIA, base=node(vendor), name="o"), **amounts)).bindings == {"p-0": "o"}
    assert run(requesting(node(vendor), **amounts), adapts=False).bindings == {"p-0": "n"}


@pytest.mark.parametrize("vendor", [CAMBRICON, METAX])
def test_nodes_of_some_vendors_are_locked(vendor: str) -> None:
    """The lock is a preparation of the bind and names the pod. The next pod waits."""
    outcome = run(requesting(node(vendor), tasks=2, **SHARE))

    details = {"annotation": LOCKS[vendor], "names-pod": "true"}
    assert bound(outcome).preparations == (Preparation(kind="lock-node", namespace="", name="n", details=details),)
    assert outcome.why_pod("p-1").endswith("1 node has been locked within 5 minutes.")


@pytest.mark.parametrize("vendor", ["", NVIDIA, HUAWEI])
def test_nodes_of_other_vendors_are_not_locked(vendor: str) -> None:
    """Two pods are bound at once."""
    assert len(run(requesting(node(vendor), tasks=2, nvidia=1)).bindings) == 2


@pytest.mark.parametrize(
    ("lock", "is_bound"),
    [
        ("2027-01-15T07:59:59Z,default,there-0", False),
        ("2027-01-15T07:54:59Z,default,there-0", True),
        ("2027-01-15T07:59:59Z,default,gone", True),
        ("2027-01-15T07:59:59Z,default,../x", False),
        ("2027-01-15T07:59:59Z", False),
        ("2027-01-15T07:59:59Z,default", False),
        ("soon,default,there-0", False),
    ],
)
def test_a_lock_ends_after_five_minutes_or_with_its_pod(lock: str, *, is_bound: bool) -> None:
    """The binder checks whether a pod that is not on the node exists."""
    there = node(METAX).add(
        {"apiVersion": "v1", "kind": "Pod", **_pod("there-0")},
    )
    locked = Scenario(
        tuple(
            {**each, "metadata": {**each["metadata"], "annotations": {LOCKS[METAX]: lock}}}
            if each["kind"] == "Node"
            else each
            for each in there.objects
        )
    )

    assert bool(run(requesting(locked, **SHARE)).bindings) is is_bound


def test_hami_finds_a_pod_by_a_label() -> None:
    """The label is one patch with the annotations, the last preparation of the bind."""
    isolation = {"koordinator.sh/gpu-isolation-provider": "HAMi-core"}
    own = {"labels": {"node.koordinator.sh/gpu-vendor": NVIDIA}}
    there = with_devices(gpu(0), labels=isolation, own=own)
    bind = bound(run(requesting(there, labels=isolation, core=50, ratio=50)))

    assert bind.labels == {"hami.io/vgpu-node": "n"}
    assert [each.kind for each in bind.preparations] == ["patch-pod"]
    assert bind.annotations["scheduling.koordinator.sh/gpu-minors"] == "0"


def test_a_pod_cannot_write_the_devices_of_others() -> None:
    """A running pod that names a vendor's devices holds what Koordinator's annotation and its request say."""
    claim = {"CAMBRICON_DSMLU_PROFILE": "0_100_64", "huawei.com/npu-core": "0,1", ALLOCATED: json.dumps({})}
    there = node(HUAWEI).running("claims", on=["n"], cpu=0, annotations=claim)

    assert len(run(requesting(there, tasks=2, nvidia=1)).bindings) == 2


def test_amounts_of_whole_gpus_are_known_to_the_device_plugin() -> None:
    """A whole GPU has 100 percent of the cores and its memory."""
    outcome = run(requesting(node(CAMBRICON), nvidia=1))

    assert written(outcome)["CAMBRICON_DSMLU_PROFILE"] == "0_100_64"
    resources = json.loads(bound(outcome).annotations[ALLOCATED])["gpu"][0]["resources"]
    assert resources == {CORE: "100", MEMORY: "16Gi", RATIO: "100"}


def _pod(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "app:1"}]},
        "status": {"phase": "Running"},
    }
