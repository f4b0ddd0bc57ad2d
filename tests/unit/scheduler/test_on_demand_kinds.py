"""What a configuration required followed that is not always followed."""

from typing import Any

import pytest

from pyroclast.cache.sync.on_demand_informer import EVERY_OBJECT, RequiredObjects
from pyroclast.plugins.deviceshare import args_of
from pyroclast.scheduler.daemon.on_demand_kinds import OnDemandKinds, required_kinds
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.registry import load_registry


def required(*plugins: str) -> OnDemandKinds:
    """What plugins, each as it stands in a configuration, want."""
    text = f"actions: allocate\ntiers:\n- plugins: [{', '.join(plugins)}]\n"
    configuration = read_configuration(text, load_registry()).configuration
    return required_kinds(configuration, args_of(configuration.deciding))


CARDS = "{name: deviceshare, arguments: {deviceshare.VGPUEnable: true}}"
DEVICE_MAP = {"ConfigMap": RequiredObjects("kube-system", "volcano-vgpu-device-config")}


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        (["{name: gang}"], {}),
        (["{name: usage}", "{name: deviceshare}", "{name: coscheduling}"], {}),
        (["{name: load-aware}"], {"NodeMetric": EVERY_OBJECT}),
        (["{name: nodenuma}"], {"NodeResourceTopology": EVERY_OBJECT}),
        (["{name: reservation}"], {"Reservation": EVERY_OBJECT}),
        (
            ["{name: coscheduling, arguments: {awareNetworkTopology: true}}"],
            {"ClusterNetworkTopology": EVERY_OBJECT},
        ),
        ([CARDS], DEVICE_MAP),
        ([CARDS, "{name: load-aware}"], {**DEVICE_MAP, "NodeMetric": EVERY_OBJECT}),
    ],
)
def test_kinds_that_plugins_need_are_watched(plugins: list[Any], expected: OnDemandKinds) -> None:
    """Loads by load-aware, the device ConfigMap by deviceshare with virtual cards, and nothing by others."""
    assert required(*plugins) == expected
