"""Annotations of shared cards: in assumed pods, and in templates."""

import pytest

from pyroclast.cache.state import ClusterState
from pyroclast.model.devices.cards import Holder, Use
from pyroclast.model.devices.koordinator.names import DEVICE_ANNOTATIONS, ISOLATION_PROVIDER
from pyroclast.model.devices.names import CARD_ANNOTATIONS, VGPU_IDS
from pyroclast.model.devices.settings import DEFAULT
from pyroclast.model.devices.vgpu_demand import UNSET, CardRules, ContainerDemand
from pyroclast.model.devices.vgpu_ids import read_ids
from pyroclast.model.devices.vgpu_register import read_register
from pyroclast.plugins.deviceshare.arguments import DeviceShareArgs
from pyroclast.plugins.deviceshare.vgpu import Vgpu, VgpuDemand
from tests.unit.cache.builders import bind_plan, filled, group, node, pod, queue, task
from tests.unit.plugins.cards import register


def test_a_card_is_used_as_soon_as_its_bind_is_assumed() -> None:
    """The next snapshot has the annotations of the assumed binding, until it is forgotten."""
    state = filled(ClusterState(), queue(), node(), group("g"), pod("a", group="g", cpu="1"))
    ids = "GPU-0,NVIDIA,100,10:"
    assert state.assume(bind_plan(("a", "n1"), annotations={VGPU_IDS: ids}), 0.0) == []
    snapshot = state.snapshot()

    (on_node,) = snapshot.nodes.tasks[0].values()
    assert read_ids(on_node.pod.metadata.annotations[VGPU_IDS])[0].uuid == "GPU-0"
    family = Vgpu(DeviceShareArgs(vgpu=True), DEFAULT.nvidia)
    cards = read_register(register(1000), family.settings)
    assert cards is not None
    demand = VgpuDemand((ContainerDemand(1, 100, UNSET, 10),), CardRules())
    assert family.held(cards, on_node, demand) == Holder((Use(0, 100, 10, 100),), group="ns/g")

    state.forget(on_node.id, on_node.node)
    assert VGPU_IDS not in task(state, "a").pod.metadata.annotations


@pytest.mark.parametrize("key", [*CARD_ANNOTATIONS, *DEVICE_ANNOTATIONS])
def test_pods_with_different_card_annotations_share_no_template(key: str) -> None:
    """Results for one of them are not valid for the other."""
    one, other = (pod(name, cpu="1", annotations={key: name}) for name in ("a", "b"))
    state = filled(ClusterState(), one, other, pod("c", cpu="1"), pod("d", cpu="1", annotations={VGPU_IDS: "x"}))
    numbers = {name: task(state, name).template.number for name in "abcd"}

    assert len({numbers["a"], numbers["b"], numbers["c"]}) == 3
    assert numbers["c"] == numbers["d"]


def test_pods_with_different_isolation_labels_share_no_template() -> None:
    """It is the only label that affects devices."""
    one, other, third = (
        pod(name, cpu="1", labels={ISOLATION_PROVIDER: by}) for name, by in zip("abc", "xyx", strict=True)
    )
    state = filled(ClusterState(), one, other, third)
    numbers = {name: task(state, name).template.number for name in "abc"}

    assert numbers["a"] == numbers["c"] != numbers["b"]
