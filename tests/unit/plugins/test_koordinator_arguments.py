"""Arguments of Koordinator's devices: what is refused, and what is doubted."""

from typing import Any

import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.model.errors import ConfigError
from pyroclast.plugins.deviceshare import DeviceShareArgs, map_of
from pyroclast.plugins.deviceshare.koordinator.rules import Rules
from pyroclast.plugins.deviceshare.koordinator.scoring import MOST, Scoring
from tests.devices import CORE, gpu
from tests.unit.plugins.koordinator import given, run, wanting, with_devices

ON = {"deviceshare.KoordinatorEnable": True}
MODELS = [{"vendor": "huawei", "model": "Ascend-310P3-300I-DUO"}]


def read(**arguments: Any) -> tuple[DeviceShareArgs, list[str]]:
    """Arguments as they are spelled, and the warnings about them."""
    return decode(DeviceShareArgs, arguments, "a")


def test_what_they_come_to() -> None:
    """As Koordinator's, but for partitions and for joint allocation."""
    assert read(**ON) == (DeviceShareArgs(koordinator=True), [])
    assert DeviceShareArgs().rules() == Rules()
    args, doubts = read(
        **ON,
        scoringStrategy={"type": "MostAllocated", "resources": [{"name": CORE, "weight": 2}]},
        disableDeviceNUMATopologyAlignment=True,
        gpuShareUnsupportedModels=MODELS,
        partitionScoreOrder="ascending",
        jointSearchRetry=False,
        **{"deviceshare.DevicePluginAdaption": True},
    )
    assert doubts == []
    assert args.rules() == Rules(
        scoring=Scoring(MOST, ((CORE, 2),)),
        unsupported=frozenset({("huawei", "Ascend-310P3-300I-DUO")}),
        small_scores_first=True,
        searches_on=False,
        aligns=False,
        adapts=True,
    )
    assert map_of(args) is None


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({}, ("koordinator-system", "gpu-shared-resource-templates")),
        ({"configMapNamespace": "a", "configMapName": "b", "matchedResources": [CORE]}, ("a", "b")),
    ],
)
def test_where_templates_stand(config: Any, named: Any) -> None:
    """The ConfigMap is followed where the argument is given, and where devices are shared at all."""
    args, doubts = read(**ON, gpuSharedResourceTemplatesConfig=config)

    assert (map_of(args), doubts) == (named, [])
    assert map_of(read(gpuSharedResourceTemplatesConfig=config)[0]) is None


@pytest.mark.parametrize("other", ["GPUSharingEnable", "GPUNumberEnable", "VGPUEnable"])
def test_cards_are_managed_once(other: str) -> None:
    """Requested from one family or another."""
    with pytest.raises(ConfigError, match=r"a\.deviceshare\.KoordinatorEnable: got True, expected false beside"):
        read(**ON, **{f"deviceshare.{other}": True})


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"partitionScoreOrder": "random"}, r"a\.partitionScoreOrder: got 'random'"),
        (
            {"gpuShareUnsupportedModels": [{"vendor": "huawei"}]},
            r"a\.gpuShareUnsupportedModels\[0\]: .* a mapping with model",
        ),
        ({"gpuShareUnsupportedModels": "huawei"}, r"a\.gpuShareUnsupportedModels: got 'huawei'"),
        (
            {"gpuSharedResourceTemplatesConfig": {"matchedResources": 1}},
            r"a\.gpuSharedResourceTemplatesConfig\.matched",
        ),
    ],
)
def test_changes_of_shares_are_refused(arguments: Any, fault: str) -> None:
    """With its path."""
    with pytest.raises(ConfigError, match=fault):
        read(**ON, **arguments)


@pytest.mark.parametrize(
    ("arguments", "doubt"),
    [
        ({**ON, "scoringStrategy": {"type": "Least"}}, "a.scoringStrategy.type: got 'Least'"),
        (
            {**ON, "scoringStrategy": {"resources": [{"name": CORE, "weight": 0}]}},
            "a.scoringStrategy.resources[0].weight: got 0, so 'koordinator.sh/gpu-core' has no effect",
        ),
        ({**ON, "deviceshare.NodeLockEnable": True}, "a.deviceshare.NodeLockEnable: has no effect with"),
        ({**ON, "deviceshare.SchedulePolicy": "binpack"}, "a.deviceshare.SchedulePolicy: has no effect with"),
        ({"scoringStrategy": {"type": "MostAllocated"}}, "a.scoringStrategy: has no effect without"),
        ({"disableDeviceNUMATopologyAlignment": True}, "a.disableDeviceNUMATopologyAlignment: has no effect without"),
        ({"gpuShareUnsupportedModels": MODELS}, "a.gpuShareUnsupportedModels: has no effect without"),
        ({"gpuSharedResourceTemplatesConfig": {}}, "a.gpuSharedResourceTemplatesConfig: has no effect without"),
        ({"partitionScoreOrder": "ascending"}, "a.partitionScoreOrder: has no effect without"),
        ({"jointSearchRetry": False}, "a.jointSearchRetry: has no effect without"),
        ({"deviceshare.DevicePluginAdaption": True}, "a.deviceshare.DevicePluginAdaption: has no effect without"),
    ],
)
def test_what_says_less_than_it_seems_to(arguments: Any, doubt: str) -> None:
    """It is reported, and the rest applies."""
    (warning,) = read(**arguments)[1]

    assert warning.startswith(doubt)


@pytest.mark.parametrize(
    ("labels", "amounts", "is_served"),
    [
        ({"gpu-vendor": "huawei", "gpu-model": "Ascend-310P3-300I-DUO"}, {"ratio": 50}, False),
        ({"gpu-vendor": "huawei", "gpu-model": "Ascend-310P3-300I-DUO"}, {"ratio": 100}, True),
        ({"gpu-vendor": "huawei", "gpu-model": "Ascend-310P3"}, {"ratio": 50}, True),
        ({}, {"ratio": 50}, True),
    ],
)
def test_models_that_cannot_be_shared(labels: Any, amounts: Any, is_served: bool) -> None:
    """They are still given whole."""
    named = {f"node.koordinator.sh/{name}": value for name, value in labels.items()}
    outcome = run(wanting(with_devices(gpu(0), labels=named), **amounts), gpuShareUnsupportedModels=MODELS)

    assert bool(given(outcome)) is is_served
    assert is_served or "node(s) GPU model cannot be shared" in outcome.why_pod("p-0")
