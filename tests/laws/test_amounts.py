"""Amounts are Kubernetes' amounts: what a pod asks for is the most that any moment of its life needs.

A moment is the run of one init container beside the sidecars that were started before it, or that of all sidecars and
containers. Devices add up as CPU does. While an amount is resized, the largest of spec, actuated and allocated counts.
"""

from collections.abc import Iterator, Sequence

import hypothesis.strategies as st
from hypothesis import given, settings

from pyroclast.model import wire
from pyroclast.model.devices.gpu import gpu_demand
from pyroclast.model.devices.settings import DEFAULT
from pyroclast.model.devices.vgpu_demand import vgpu_demand
from pyroclast.model.requests import pod_request
from tests.drawing import examples

EXAMPLES = examples(200)
LAWS = settings(max_examples=EXAMPLES, deadline=None)
GPU_MEMORY, CARDS, MEMORY = "volcano.sh/gpu-memory", "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory"
INFEASIBLE = wire.Condition(type="PodResizePending", status="True", reason="Infeasible")

small = st.integers(0, 5)
resized = st.one_of(st.none(), st.tuples(small, small))
"""Actuated and allocated CPU; None without a resize."""


@st.composite
def containers(draw: st.DrawFn, prefix: str, *, initial: bool = False) -> list[wire.Container]:
    """Draw some containers that ask for CPU, GPU memory and virtual cards."""
    drawn = []
    for number in range(draw(st.integers(0 if initial else 1, 3))):
        limits = {GPU_MEMORY: draw(small), CARDS: draw(st.integers(0, 2)), MEMORY: draw(small)}
        drawn.append(
            wire.Container(
                name=f"{prefix}{number}",
                restart_policy="Always" if initial and draw(st.booleans()) else "",
                resources=wire.ResourceRequirements(requests={"cpu": str(draw(small))}, limits=limits),
            )
        )
    return drawn


def moments(initial: Sequence[wire.Container], regular: Sequence[wire.Container]) -> Iterator[list[wire.Container]]:
    """Yield what runs side by side, moment by moment."""
    sidecars: list[wire.Container] = []
    for container in initial:
        yield [*sidecars, container]
        if container.restart_policy == "Always":
            sidecars.append(container)
    yield [*sidecars, *regular]


def status_of(container: wire.Container, given: tuple[int, int] | None) -> wire.ContainerStatus:
    """Return the status of a container that may be in the middle of a resize."""
    if given is None:
        return wire.ContainerStatus(name=container.name)
    actuated, allocated = given
    return wire.ContainerStatus(
        name=container.name,
        resources=wire.ResourceRequirements(requests={"cpu": str(actuated)}),
        allocated_resources={"cpu": str(allocated)},
    )


def effective(asked: int, given: tuple[int, int] | None, *, infeasible: bool) -> int:
    """Return what counts of one amount."""
    if given is None:
        return asked
    return max(given) if infeasible else max(asked, *given)


@LAWS
@given(containers("i", initial=True), containers("c"), st.data(), st.booleans())
def test_requests_are_those_of_the_largest_moment(
    initial: list[wire.Container], regular: list[wire.Container], data: st.DataObject, infeasible: bool
) -> None:
    """CPU, with resizes of containers and of the whole pod."""
    told = {each.name: data.draw(resized) for each in (*initial, *regular)}
    told.update((each.name, None) for each in initial if each.restart_policy != "Always")  # these are never resized
    whole, given_whole = data.draw(st.one_of(st.none(), small)), data.draw(resized)
    pod = wire.Pod(
        metadata=wire.ObjectMeta(name="p", namespace="ns"),
        spec=wire.PodSpec(
            containers=tuple(regular),
            init_containers=tuple(initial),
            resources=None if whole is None else wire.ResourceRequirements(requests={"cpu": str(whole)}),
        ),
        status=wire.PodStatus(
            conditions=(INFEASIBLE,) if infeasible else (),
            container_statuses=tuple(status_of(each, told[each.name]) for each in regular),
            init_container_statuses=tuple(status_of(each, told[each.name]) for each in initial),
            resources=None if given_whole is None else wire.ResourceRequirements(requests={"cpu": str(given_whole[0])}),
            allocated_resources={} if given_whole is None else {"cpu": str(given_whole[1])},
        ),
    )

    def of(container: wire.Container) -> int:
        asked = int(container.resources.requests["cpu"])
        return effective(asked, told[container.name], infeasible=infeasible)

    expected = max(sum(map(of, moment)) for moment in moments(initial, regular))
    if whole is not None:
        expected = effective(whole, given_whole, infeasible=infeasible)

    assert pod_request(pod).amounts.get("cpu", 0) == expected * 1000


@LAWS
@given(containers("i", initial=True), containers("c"))
def test_devices_add_up_as_other_resources(initial: list[wire.Container], regular: list[wire.Container]) -> None:
    """GPU memory of the largest moment; virtual cards of all that goes on running, in the order of the start."""
    spec = wire.PodSpec(containers=tuple(regular), init_containers=tuple(initial))
    running = list(moments(initial, regular))[-1]

    def memory(container: wire.Container) -> int:
        return int(container.resources.limits[GPU_MEMORY])

    assert gpu_demand(spec).memory == max(sum(map(memory, moment)) for moment in moments(initial, regular))
    assert [each.cards for each in vgpu_demand(spec, DEFAULT.nvidia)] == [
        int(each.resources.limits[CARDS]) for each in running
    ]
