"""Resource claims of assumed plans: the devices of a plan are given until the claim shows its allocation."""

from typing import Any

import msgspec
import pytest

from pyroclast.cache.files.audit import differences
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.model import wire
from pyroclast.model.device_claims import ALLOCATE_CLAIM
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Preparation
from tests.device_claims import allocated, claim
from tests.unit.cache.builders import bind_plan, filled, group, node, pod, queue

KEY = "default/c"


def shown(device: str = "", *uids: str, version: str = "1", uid: str = "uid-c") -> wire.ResourceClaim:
    """The claim as the server has it."""
    made = claim("c", status=allocated(device, node="n1", uids=uids) if device else {})
    made["metadata"] |= {"resourceVersion": version, "uid": uid}
    return msgspec.convert(made, wire.ResourceClaim)


def assumed(*pods: str, device: str = "n1/g0") -> ClusterState:
    """A state with pods that are being bound with the claim."""
    state = ClusterState(StateOptions(assume_seconds=10))
    filled(state, queue(), node(), group("g"), *(pod(name, group="g", cpu="1") for name in ("a", "b")))
    state.apply("ResourceClaim", shown())
    details = {"claim-uid": "uid-c"}
    if device:
        allocation = msgspec.convert(allocated(device, node="n1")["allocation"], wire.AllocationResult)
        details["allocation"] = msgspec.json.encode(allocation).decode()
    one = Preparation(kind=ALLOCATE_CLAIM, namespace="default", name="c", details=details)
    plan = bind_plan(*((name, "n1") for name in pods))
    binds = tuple(msgspec.structs.replace(bind, preparations=(one,)) for bind in plan.binds)
    assert state.assume(msgspec.structs.replace(plan, binds=binds), 0.0) == []
    return state


def seen(state: ClusterState) -> tuple[list[str], list[str]]:
    """The devices of the claim in the next snapshot, and the pods it is reserved for."""
    status = state.snapshot().objects.resource_claims[KEY].status
    results = status.allocation.devices.results if status.allocation is not None else ()
    return [each.device for each in results], [each.uid for each in status.reserved_for]


def bound(name: str, **more: Any) -> Any:
    """The pod as it is on its node."""
    return pod(name, group="g", cpu="1", node="n1", **more)


def test_an_assumed_claim_is_allocated_in_the_next_snapshot() -> None:
    """It is reserved for all pods of the plan."""
    assert seen(assumed("a", "b")) == (["g0"], ["a", "b"])


def test_it_stays_allocated_when_the_pods_show_their_node_first() -> None:
    """Pods and claims arrive by different watches."""
    state = assumed("a")
    filled(state, bound("a"))

    assert seen(state) == (["g0"], ["a"])


def test_the_claim_itself_ends_the_assumption() -> None:
    """What it shows later counts alone."""
    state = assumed("a", "b")
    state.apply("ResourceClaim", shown("n1/g0", "a", version="2"))
    assert seen(state) == (["g0"], ["a", "b"])
    state.apply("ResourceClaim", shown("n1/g0", "a", "b", version="3"))
    state.apply("ResourceClaim", shown(version="4"))

    assert seen(state) == ([], [])


def test_an_earlier_version_of_the_claim_ends_nothing() -> None:
    """The finalizer came before the allocation, or another allocation is replaced."""
    state = assumed("a")
    state.apply("ResourceClaim", shown(version="2"))
    assert seen(state) == (["g0"], ["a"])
    state.apply("ResourceClaim", shown("n2/g7", "a", version="3"))

    assert seen(state) == (["g0"], ["a"])


def test_a_failed_bind_gives_the_devices_back() -> None:
    """Those of the other pod stay."""
    state = assumed("a", "b")
    state.forget(TaskId("a"), NodeName("n1"), failed=True)
    assert seen(state) == (["g0"], ["b"])
    state.forget(TaskId("b"), NodeName("n1"), failed=True)

    assert seen(state) == ([], [])


@pytest.mark.parametrize("end", ["deleted", "ended", "remade"])
def test_the_assumption_ends_with_its_pod_or_claim(end: str) -> None:
    """A pod that is gone or has ended, and another claim of the name."""
    state = assumed("a")
    match end:
        case "deleted":
            state.remove("Pod", pod("a", group="g", cpu="1"))
        case "ended":
            filled(state, bound("a", phase="Succeeded"))
        case "remade":
            state.apply("ResourceClaim", shown(version="5", uid="another"))

    assert seen(state) == ([], [])


def test_a_deleted_claim_ends_the_assumption() -> None:
    """A later claim of this name is not allocated."""
    state = assumed("a")
    state.remove("ResourceClaim", shown())
    state.apply("ResourceClaim", shown(version="7"))

    assert seen(state) == ([], [])


def test_a_rebuilt_state_has_the_assumed_claims() -> None:
    """They are part of the carried state."""
    state = assumed("a")

    assert differences(state.snapshot(), state.rebuild().snapshot()) == []
    assert seen(state.rebuild()) == (["g0"], ["a"])
    assert seen(state.copy_of_objects()()) == (["g0"], ["a"])
