"""Arguments of deviceshare: what is refused, what is doubted, which ConfigMap follows from them."""

from typing import Any

import pytest

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.configuration.arguments import decode
from pyroclast.model.errors import ConfigError
from pyroclast.plugins.deviceshare import DeviceShareArgs, args_of, map_of
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.registry import load_registry
from pyroclast.testing import Scenario
from tests.unit.plugins.cards import one, run, with_cards


def read(**arguments: Any) -> tuple[DeviceShareArgs, list[str]]:
    """Arguments without their prefix, and the warnings about them."""
    return decode(DeviceShareArgs, {f"deviceshare.{key}": value for key, value in arguments.items()}, "a")


def configured(arguments: str) -> Configuration:
    """A configuration with deviceshare alone."""
    text = f"actions: allocate\ntiers: [{{plugins: [{{name: deviceshare, arguments: {{{arguments}}}}}]}}]\n"
    return read_configuration(text, load_registry()).configuration


@pytest.mark.parametrize(
    ("arguments", "faults"),
    [
        ({"GPUSharingEnable": True, "GPUNumberEnable": True}, ["a.deviceshare.GPUNumberEnable: got True"]),
        ({"GPUSharingEnable": True, "VGPUEnable": "true"}, ["a.deviceshare.VGPUEnable: got True"]),
        ({"GPUNumberEnable": "1", "VGPUEnable": True}, ["a.deviceshare.VGPUEnable: got True"]),
        (
            {"GPUSharingEnable": True, "GPUNumberEnable": True, "VGPUEnable": True},
            ["a.deviceshare.GPUNumberEnable: got True", "a.deviceshare.VGPUEnable: got True"],
        ),
    ],
)
def test_what_excludes_each_other_is_refused(arguments: dict[str, Any], faults: list[str]) -> None:
    """Every fault at once."""
    with pytest.raises(ConfigError) as refused:
        read(**arguments)

    assert [fault.partition(",")[0] for fault in refused.value.faults] == faults


def test_chips_of_mind_cluster_are_not_there() -> None:
    """Those of HAMi are."""
    with pytest.raises(ConfigError, match=r"AscendMindClusterVNPUEnable: got True, expected false: only .*HAMi"):
        read(AscendMindClusterVNPUEnable=True)
    assert read(AscendMindClusterVNPUEnable=False, AscendHAMiVNPUEnable=True)[1] == []


def test_ascend_chips_stand_beside_cards_of_volcano() -> None:
    """Koordinator's devices can be the same chips."""
    for other in ("VGPUEnable", "GPUSharingEnable", "GPUNumberEnable"):
        assert read(**{other: True, "AscendHAMiVNPUEnable": True})[1] == []
    with pytest.raises(ConfigError, match=r"KoordinatorEnable: got True, expected false beside .*AscendHAMi"):
        read(KoordinatorEnable=True, AscendHAMiVNPUEnable=True)


@pytest.mark.parametrize(
    ("arguments", "doubt"),
    [
        ({"SchedulePolicy": "pack"}, "a.deviceshare.SchedulePolicy: 'pack' is not a policy"),
        ({"ScheduleWeight": -1}, "a.deviceshare.ScheduleWeight: got -1, probably not meant: it is negative"),
        ({"GPUExclusiveRules": [{"a": "b"}]}, "a.deviceshare.GPUExclusiveRules: has no effect without"),
        ({"ScheduleWeight": "many"}, "a.deviceshare.ScheduleWeight: got 'many', expected a whole number"),
        ({"VGPUEnabled": True}, "a.deviceshare.VGPUEnabled: unknown argument"),
    ],
)
def test_what_says_less_than_it_seems_is_doubted(arguments: dict[str, Any], doubt: str) -> None:
    """A warning each."""
    (warning,) = read(**arguments)[1]

    assert warning.startswith(doubt)


def test_weight_and_policy_are_read() -> None:
    """Quoted numbers, too."""
    args, warnings = read(ScheduleWeight="10", SchedulePolicy="binpack", VGPUEnable=True)

    assert (args.weight, args.policy, args.vgpu, warnings) == (10, "binpack", True, [])


def test_the_config_map_follows_from_the_arguments() -> None:
    """Only virtual cards and Ascend chips need it."""
    named = (
        "deviceshare.VGPUEnable: true, deviceshare.KnownGeometriesCMName: m, deviceshare.KnownGeometriesCMNamespace: n"
    )

    assert map_of(args_of(configured("deviceshare.VGPUEnable: true").profiles[0])) == (
        "kube-system",
        "volcano-vgpu-device-config",
    )
    assert map_of(args_of(configured(named).profiles[0])) == ("n", "m")
    assert map_of(args_of(configured("deviceshare.AscendHAMiVNPUEnable: true").profiles[0])) is not None
    assert map_of(args_of(configured("deviceshare.GPUSharingEnable: true").profiles[0])) is None
    assert args_of(configured("").profiles[0]) == DeviceShareArgs()


def test_switched_off_it_costs_and_refuses_nothing() -> None:
    """As by default."""
    outcome = run(with_cards(Scenario(), "n", 1000).job("p", pod=one(number=1, memory=900)), VGPUEnable=False)

    assert outcome.bindings == {"p-0": "n"}
    assert dict(outcome.rounds[0].plans[0].binds[0].annotations) == {}
