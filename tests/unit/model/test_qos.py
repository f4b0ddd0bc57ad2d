"""Quality of service: Guaranteed, Burstable or BestEffort, by requests and limits."""

from collections.abc import Mapping

import pytest

from pyroclast.model import wire
from pyroclast.model.qos import quality_of


def asked(requests: Mapping[str, str], limits: Mapping[str, str]) -> wire.ResourceRequirements:
    """Requests and limits."""
    return wire.ResourceRequirements(requests=dict(requests), limits=dict(limits))


def container(requests: Mapping[str, str], limits: Mapping[str, str]) -> wire.Container:
    """A container."""
    return wire.Container(name="c", resources=asked(requests, limits))


BOTH = {"cpu": "1", "memory": "1Gi"}
GUARANTEED = container(BOTH, BOTH)


@pytest.mark.parametrize(
    ("requests", "limits", "quality"),
    [
        ({}, {}, "BestEffort"),
        ({"cpu": "0"}, {}, "BestEffort"),
        ({"example.com/gpu": "1"}, {"example.com/gpu": "1"}, "BestEffort"),
        ({"cpu": "1"}, {}, "Burstable"),
        ({}, {"memory": "1Gi"}, "Burstable"),
        (BOTH, BOTH, "Guaranteed"),
        ({}, BOTH, "Guaranteed"),
        ({"cpu": "1000m", "memory": "1024Mi"}, BOTH, "Guaranteed"),
        ({"cpu": "500m", "memory": "1Gi"}, BOTH, "Burstable"),
        ({"cpu": "1"}, {"cpu": "1"}, "Burstable"),
        (BOTH, {"cpu": "1", "memory": "0"}, "Burstable"),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "many", "memory": "1Gi"}, "Burstable"),
    ],
)
def test_one_container(requests: Mapping[str, str], limits: Mapping[str, str], quality: str) -> None:
    """Compared by amounts, however they are written."""
    assert quality_of(wire.PodSpec(containers=(container(requests, limits),))) == quality


def test_every_container_counts() -> None:
    """Those that run first, too."""
    bare = container({}, {})

    assert quality_of(wire.PodSpec(containers=(GUARANTEED, GUARANTEED))) == "Guaranteed"
    assert quality_of(wire.PodSpec(containers=(GUARANTEED, bare))) == "Burstable"
    assert quality_of(wire.PodSpec(containers=(GUARANTEED,), init_containers=(bare,))) == "Burstable"


def test_what_the_whole_pod_asks_for_decides() -> None:
    """Pod-level resources stand in the place of those of the containers."""
    whole = wire.PodSpec(containers=(container({}, {}),), resources=asked(BOTH, BOTH))

    assert quality_of(whole) == "Guaranteed"
    assert quality_of(wire.PodSpec(containers=(GUARANTEED,), resources=asked({"cpu": "1"}, {}))) == "Burstable"
