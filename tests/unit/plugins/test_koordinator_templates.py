"""Shares of NPUs: a pod is given what a template lists, or nothing."""

import json
from typing import Any

import pytest

from pyroclast.model.devices.koordinator.names import MEMORY, NPU_CORE, NPU_CPU, NPU_DVPP, SHARED
from pyroclast.model.devices.koordinator.templates import read_templates
from pyroclast.testing import Outcome, Scenario
from tests.unit.plugins.koordinator import ALLOCATED, run, told_of, with_devices

MODEL = {"node.koordinator.sh/gpu-vendor": "huawei", "node.koordinator.sh/gpu-model": "Ascend-310P"}
NPU = {NPU_CORE: "8", NPU_CPU: "7", NPU_DVPP: "100", MEMORY: "24Gi"}
HALF = {NPU_CORE: 4, NPU_CPU: 4, NPU_DVPP: 50, MEMORY: "12Gi"}
EIGHTH = {NPU_CORE: 1, NPU_CPU: 1, NPU_DVPP: 12, MEMORY: "3Gi"}
ALL_DVPP = {**HALF, NPU_DVPP: 100}
LISTED = {"huawei-Ascend-310P": {"vir01": EIGHTH, "vir04": HALF, "vir04_4c_dvpp": ALL_DVPP}}


def templates(listed: Any, key: str = "data.yaml") -> dict[str, Any]:
    """The ConfigMap of templates."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "gpu-shared-resource-templates", "namespace": "koordinator-system", "uid": "t"},
        "data": {key: listed if isinstance(listed, str) else json.dumps(listed)},
    }


def npus(*halves: int, labels: Any = None) -> Scenario:
    """A node of eight NPUs; of some of them half is in use."""
    devices = [{"type": "gpu", "minor": minor, "health": True, "resources": NPU} for minor in range(8)]
    there = with_devices(*devices, labels=MODEL if labels is None else labels)
    held = {name: str(amount) for name, amount in HALF.items()}
    for minor in halves:
        told = {"gpu": [{"minor": minor, "resources": held, "extension": {"gpuSharedResourceTemplate": "vir04"}}]}
        asked = {SHARED: 1, **HALF}
        there = there.running(f"r{minor}", on=["n"], cpu=0, resources=asked, annotations={ALLOCATED: json.dumps(told)})
    return there


def asking(scenario: Scenario, share: Any, listed: Any = None, **config: Any) -> Outcome:
    """Let one pod ask for a share."""
    there = scenario if listed is None else scenario.add(templates(listed))
    arguments: Any = {"scoringStrategy": {"type": "MostAllocated"}, "gpuSharedResourceTemplatesConfig": config}
    return run(there.job("p", resources={SHARED: 1, **share}), **arguments)


@pytest.mark.parametrize(
    ("share", "minor", "ratio", "name"), [(EIGHTH, 0, "12", "vir01"), (ALL_DVPP, 1, "50", "vir04_4c_dvpp")]
)
def test_a_share_is_as_a_template_lists_it(share: Any, minor: int, ratio: str, name: str) -> None:
    """Rows T1 and T2: on the NPU that is in use, where enough of everything is left."""
    (device,) = told_of(asking(npus(0), share, LISTED))["gpu"]

    assert (device["minor"], device["extension"]) == (minor, {"gpuSharedResourceTemplate": name})
    assert device["resources"]["koordinator.sh/gpu-memory-ratio"] == ratio
    assert device["resources"][NPU_CORE] == str(share[NPU_CORE])


def test_a_share_that_no_npu_has_left() -> None:
    """Row T3: half of each is in use, and all of one unit is requested."""
    outcome = asking(npus(*range(8)), ALL_DVPP, LISTED)

    assert told_of(outcome) == {}
    assert "1 Insufficient gpu devices" in outcome.why_pod("p-0")


@pytest.mark.parametrize(
    ("labels", "listed", "share", "config"),
    [
        ({**MODEL, "node.koordinator.sh/gpu-model": "Ascend-910B"}, LISTED, HALF, {}),
        ({}, LISTED, HALF, {}),
        (None, LISTED, {**HALF, NPU_CORE: 3}, {}),
        (None, LISTED, {name: amount for name, amount in HALF.items() if name != NPU_DVPP}, {}),
        (None, None, HALF, {}),
        (None, LISTED, HALF, {"configMapName": "others"}),
    ],
)
def test_an_unlisted_share(labels: Any, listed: Any, share: Any, config: Any) -> None:
    """Row T4: for this model, or for any; no eviction would help."""
    outcome = asking(npus(labels=labels), share, listed, **config)
    (refusal,) = outcome.refusals_of_pod("p-0")

    assert "no matched GPU shared resource template" in outcome.why_pod("p-0")
    assert not refusal.resolvable


def test_equal_templates_have_no_name() -> None:
    """The intended one is unknown."""
    twice = {"huawei-Ascend-310P": {"one": HALF, "other": HALF}}
    (device,) = told_of(asking(npus(), HALF, twice))["gpu"]

    assert "extension" not in device


def test_whole_npus_and_other_resources_follow_no_template() -> None:
    """What makes a pod follow one is configured."""
    whole = npus().job("p", resources={NPU_CORE: 16, "koordinator.sh/gpu-memory-ratio": 200})
    roomy = Scenario(tuple(map(_with_ratio, whole.objects)))
    assert [each["minor"] for each in told_of(run(roomy))["gpu"]] == [0, 1]

    free = asking(npus(), {**HALF, NPU_CORE: 3}, LISTED, matchedResources=[])
    assert "extension" not in told_of(free)["gpu"][0]


def _with_ratio(each: Any) -> Any:
    if each["kind"] != "Node":
        return each
    offered = {**each["status"]["allocatable"], "koordinator.sh/gpu-memory-ratio": 800}
    return {**each, "status": {**each["status"], "allocatable": offered}}


@pytest.mark.parametrize(
    ("listed", "key", "fault"),
    [
        (LISTED, "data.yml", "data: no key 'data.yaml'"),
        ("[", "data.yaml", "data[data.yaml]: "),
        ([], "data.yaml", "data[data.yaml]: got list, expected a mapping"),
        ({"m": []}, "data.yaml", "data[data.yaml]: m: got list, expected a mapping"),
        ({"m": {"t": 1}}, "data.yaml", "data[data.yaml]: m.t: got int, expected a mapping"),
        ({"m": {"t": {"cpu": 1}}}, "data.yaml", "data[data.yaml]: m.t.cpu: is no resource of a GPU"),
        ({"m": {"t": {NPU_CORE: "x"}}}, "data.yaml", "data[data.yaml]: m.t.huawei.com/npu-core: 'x' is no quantity"),
        ({"m": {"t": {NPU_CORE: []}}}, "data.yaml", "data[data.yaml]: m.t.huawei.com/npu-core: [] is no quantity"),
    ],
)
def test_unreadable_templates_are_reported(listed: Any, key: str, fault: str) -> None:
    """An event for their author; no share is allocated meanwhile."""
    there = npus().add(templates(listed, key))
    outcome = asking(there, HALF)
    (event,) = [each for each in outcome.events if each.reason == "DeviceConfigInvalid"]

    assert (event.kind, event.namespace, event.name) == (
        "ConfigMap",
        "koordinator-system",
        "gpu-shared-resource-templates",
    )
    assert fault in event.message
    assert told_of(outcome) == {}


def test_what_is_empty_lists_nothing() -> None:
    """A key without a value is one without templates."""
    assert read_templates(None, [NPU_CORE]) == read_templates({}, [NPU_CORE])
    assert read_templates({"m": None}, []).known == (("m", ()),)
    assert read_templates({"m": {"t": None}}, []).known == (("m", (("t", (None,) * 6),)),)
