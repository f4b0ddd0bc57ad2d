"""The example of docs/plugins/predicates.md."""

from typing import Any

import numpy as np

from pyroclast.model import wire
from pyroclast.plugins.predicates.arguments import PredicatesArgs
from pyroclast.plugins.predicates.volume_score import score_of, utilization
from pyroclast.testing import Scenario
from tests.device_claims import claim, device, device_class, devices_of, exactly, resource_slice, using
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.filtering import GIB, apart, beside, meta, node, opened, pod, term

WEB = {"app": "web"}
ZONES = node("n1", zone="a"), node("n2", zone="a"), node("n3", zone="b")


def beside_web(affinity: wire.Affinity) -> str:
    """Where a task may go."""
    return " and ".join(opened(*ZONES, pod("a", on="n1", labels=WEB), pod("p", affinity=affinity)).fits("p"))


def spread(zones: str, **fields: Any) -> list[str]:
    """The zones that a task may go to, of which a holds 2 of its kind, b one and c none."""
    selector = wire.LabelSelector(match_labels=WEB)
    constraint = wire.TopologySpreadConstraint(max_skew=1, topology_key="zone", label_selector=selector, **fields)
    there = [node(zone, zone=zone) for zone in zones]
    held = (
        pod(f"{zone}{number}", on=zone, labels=WEB) for zone, count in (("a", 2), ("b", 1)) for number in range(count)
    )
    return opened(*there, *held, pod("p", labels=WEB, topology_spread_constraints=(constraint,))).fits("p")


def attached(name: str) -> tuple[wire.PersistentVolumeClaim, wire.PersistentVolume]:
    """A claim that is bound to a volume of a driver."""
    claim = wire.PersistentVolumeClaim(
        metadata=meta(name, annotations={"pv.kubernetes.io/bind-completed": "yes"}),
        spec=wire.PersistentVolumeClaimSpec(volume_name=f"pv-{name}", storage_class_name="fast"),
        status=wire.PersistentVolumeClaimStatus(phase="Bound"),
    )
    source = wire.CSIVolume(driver="csi.example.com", volume_handle=name)
    volume = wire.PersistentVolume(
        metadata=wire.ObjectMeta(name=f"pv-{name}", uid=f"pv-{name}"),
        spec=wire.PersistentVolumeSpec(capacity={"storage": "1Gi"}, storage_class_name="fast", csi=source),
    )
    return claim, volume


def attaches(name: str) -> bool:
    """Whether a pod with a volume passes where two are attached and no more may be."""
    driver = wire.CSINodeDriver(name="csi.example.com", allocatable=wire.VolumeNodeResources(count=2))
    limit = wire.CSINode(metadata=wire.ObjectMeta(name="n", uid="n"), spec=wire.CSINodeSpec(drivers=(driver,)))
    volumes = [each for known in ("v1", "v2", "v3") for each in attached(known)]
    running = pod("a", on="n", claims=["v1"]), pod("b", on="n", claims=["v2"])
    return opened(node("n"), limit, *volumes, *running, pod("p", claims=[name])).fits("p") == ["n"]


def devices(*requests: Any) -> str:
    """The memory of the devices that a claim gets."""
    kinds = {"d0": "16Gi", "d1": "16Gi", "d2": "80Gi"}
    there = resource_slice("n", *(device(name, memory=memory) for name, memory in kinds.items()))
    scenario = Scenario().queue("default").node("n").add(device_class(), there, claim("c", *requests))
    scenario = scenario.job("j", tasks=0, min_available=1).pod("p", job="j", spec=using("c"))
    outcome = scenario.run("allocate", plugins=("gang", "predicates"), cycles=2)
    given = devices_of(outcome.rounds[-1].snapshot.objects.resource_claims, "c")
    return " and ".join(kinds[each.partition("/")[2]] for each in given) if outcome.bindings else "none"


LARGE = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0'


def test_the_page() -> None:
    """Company, spreading, volumes that a node attaches, and what a volume would be used."""
    assert (spread("abc"), spread("ab", min_domains=3)) == (["c"], [])
    assert (attaches("v2"), attaches("v3")) == (True, False)
    (percent,) = utilization(np.array([50 * GIB]), np.array([200 * GIB])).tolist()

    assert devices(exactly("a", LARGE), exactly("b")) == "80Gi and 16Gi"
    assert devices(exactly("a", LARGE, count=2)) == "none"
    assert_tells(
        "plugins/predicates",
        "A node has two devices with 16Gi and one with 80Gi.",
        "A claim for one device with at least 40Gi and one other device "
        "gets the device with 80Gi and the first one with 16Gi.",
        "A claim for two devices of at least 40Gi waits.",
        "Nodes n1 and n2 lie in zone a, n3 in b; a pod `app=web` is on n1.",
        f"A task that needs `app=web` in its zone can run on {beside_web(beside(term('web')))};",
        "one that excludes `app=web` on its host can run on "
        f"{beside_web(apart(term('web', 'kubernetes.io/hostname')))}.",
        "Zones a, b and c hold 2, 1 and 0 pods that a task spreads with, `maxSkew` 1: "
        f"a and b are refused ({2 + 1} and {1 + 1} exceed 1), c is not.",
        "With a and b alone and `minDomains: 3` the least is 0, and both are refused.",
        "A node attaches 2 volumes of a driver, v1 and v2 are attached: "
        "a pod with v2 passes, a pod with v3 is refused.",
        f"50Gi of a volume of 200Gi is {percent} %, which the default shape scores "
        f"{score_of(percent, PredicatesArgs().volume_shape)}.",
    )
