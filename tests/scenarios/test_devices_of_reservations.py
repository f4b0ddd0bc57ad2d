"""Devices of Reservations: chosen with the node, written on the object, and kept from other pods (R29)."""

import json
from typing import Any

from pyroclast.testing import Scenario
from tests.devices import CORE, RATIO, SHARED, gpu
from tests.reservations import affinity, claimed, reservation
from tests.unit.plugins.koordinator import whole, with_devices

ALLOCATED = "scheduling.koordinator.sh/device-allocated"
GPU = "koordinator.sh/gpu"
KOORDINATOR = {"deviceshare": {"deviceshare.KoordinatorEnable": True}}


def run(scenario: Scenario) -> Any:
    """Decide until the Reservation is Available and pods are placed."""
    return scenario.run(
        "enqueue",
        "allocate",
        plugins=("gang", "predicates", "deviceshare", "reservation"),
        arguments=KOORDINATOR,
        cycles=3,
    )


def minors(outcome: Any, name: str) -> list[int]:
    """Return the GPUs of a pod or a Reservation."""
    for each in outcome.rounds:
        for plan in each.plans:
            for bind in plan.binds:
                if name in {bind.name, bind.reservation} and ALLOCATED in bind.annotations:
                    return [device["minor"] for device in json.loads(bind.annotations[ALLOCATED])["gpu"]]
    return []


def test_devices_of_a_reservation_are_kept_from_other_pods() -> None:
    """Two GPUs: one is reserved, a pod gets the other, and a second pod waits."""
    there = with_devices(gpu(0), gpu(1)).add(reservation("r", cpu=1, resources={GPU: "100"}))
    outcome = run(there.job("p", tasks=2, min_available=1, cpu=1, resources={GPU: 100}))

    placed = [name for name in ("p-0", "p-1") if name in outcome.bindings]
    assert len(placed) == 1
    assert sorted([*minors(outcome, "r"), *minors(outcome, placed[0])]) == [0, 1]


def test_reservations_lock_no_node() -> None:
    """No device plugin serves a Reservation: it gets no annotations of the vendor, and its pod is bound beside it."""
    own = {"labels": {"node.koordinator.sh/gpu-vendor": "cambricon"}}
    there = with_devices(gpu(0), gpu(1), own=own).add(reservation("r", cpu=1, resources={GPU: "100"}))
    outcome = there.job("p", tasks=1, cpu=1, resources={GPU: 100}).run(
        "allocate",
        plugins=("gang", "predicates", "deviceshare", "reservation"),
        arguments={"deviceshare": {**KOORDINATOR["deviceshare"], "deviceshare.DevicePluginAdaption": True}},
    )
    binds = {bind.reservation or bind.name: bind for plan in outcome.report.plans for bind in plan.binds}

    assert list(binds["r"].annotations) == [ALLOCATED]
    assert binds["r"].preparations == ()
    assert "CAMBRICON_DSMLU_PROFILE" in binds["p-0"].annotations
    assert [each.kind for each in binds["p-0"].preparations] == ["lock-node"]


def on_node(*kept: int, annotations: Any = None, **fields: Any) -> dict[str, Any]:
    """Return an Available Reservation of GPUs."""
    amount = str(100 * len(kept))
    return reservation(
        "r",
        node="n",
        cpu=1,
        resources={GPU: amount},
        annotations={ALLOCATED: json.dumps(whole("gpu", *kept))},
        **fields,
    )


def owner(scenario: Scenario, name: str = "p", gpus: int = 1, **more: Any) -> Scenario:
    """Add a pod that matches the owners."""
    return scenario.job(name, tasks=1, cpu=1, resources={GPU: 100 * gpus}, labels={"app": "a"}, **more)


def test_owners_get_the_devices_of_their_reservation() -> None:
    """The third of four GPUs is reserved: the owner gets it, although the first ones are free."""
    outcome = run(owner(with_devices(*map(gpu, range(4))).add(on_node(2))))

    assert minors(outcome, "p-0") == [2]


def test_aligned_adds_devices_of_the_node() -> None:
    """An owner of three GPUs gets both of the Reservation and the first of the others."""
    there = with_devices(*map(gpu, range(5))).add(on_node(3, 4, allocatePolicy="Aligned"))

    assert sorted(minors(run(owner(there, gpus=3)), "p-0")) == [0, 3, 4]


def test_restricted_gives_devices_of_the_reservation_alone() -> None:
    """An owner of one GPU gets the reserved one; an owner of two waits, although three are free."""
    there = with_devices(*map(gpu, range(4))).add(on_node(3, allocatePolicy="Restricted"))

    assert minors(run(owner(there)), "p-0") == [3]
    needs_two = owner(there, gpus=2, annotations=affinity(name="r"))
    assert "p-0" not in run(needs_two).bindings


def test_several_owners_share_devices() -> None:
    """Two owners of one GPU each get the two reserved ones; a third gets another."""
    there = with_devices(*map(gpu, range(4))).add(on_node(2, 3, allocateOnce=False))
    outcome = run(owner(owner(owner(there, "a"), "b"), "c"))

    assert sorted(minors(outcome, name)[0] for name in ("a-0", "b-0", "c-0")) == [0, 2, 3]


def test_owners_that_run_use_the_devices_after_a_restart() -> None:
    """A running owner has GPU 2, so that GPU 3 is left of the Reservation, and strangers get GPUs 0 and 1."""
    there = with_devices(*map(gpu, range(4))).add(on_node(2, 3, allocateOnce=False))
    there = there.running(
        "a",
        on=["n"],
        cpu=1,
        resources={GPU: 100},
        labels={"app": "a"},
        annotations={**claimed("r"), ALLOCATED: json.dumps(whole("gpu", 2))},
    )
    stranger = there.job("s", tasks=3, min_available=1, cpu=1, resources={GPU: 100})
    outcome = run(owner(stranger, "b"))

    assert minors(outcome, "b-0") == [3]
    assert sorted(number for at in range(3) for number in minors(outcome, f"s-{at}")) == [0, 1]


def test_pods_that_ignore_reservations_use_reserved_devices() -> None:
    """Both GPUs are reserved, and a pod with the label gets one of them."""
    there = with_devices(gpu(0), gpu(1)).add(on_node(0, 1))
    labels = {"scheduling.koordinator.sh/reservation-ignored": "true"}
    outcome = run(there.job("p", tasks=1, cpu=1, resources={GPU: 100}, labels=labels))

    assert minors(outcome, "p-0") == [0]


def test_part_of_a_reserved_device_stays_reserved() -> None:
    """An owner uses half of the reserved GPU: the other half is kept from a stranger, and another owner gets it."""
    there = with_devices(gpu(0)).add(on_node(0, allocateOnce=False))
    half = {GPU: 50}
    there = there.job("o", tasks=1, cpu=0, resources=half, labels={"app": "a"})
    there = there.job("s", tasks=1, cpu=0, resources=half)
    outcome = run(there.job("t", tasks=1, cpu=0, resources=half, labels={"app": "a"}))

    assert minors(outcome, "o-0") == [0]
    assert minors(outcome, "t-0") == [0]
    assert "s-0" not in outcome.bindings


def test_a_restricted_owner_takes_no_free_part_of_a_reserved_device() -> None:
    """Half of GPU 1 is reserved: an owner of 70 percent waits, although the GPU is free."""
    half = {"gpu": [{"minor": 1, "resources": {CORE: "50", RATIO: "50"}}]}
    kept = reservation(
        "r",
        node="n",
        cpu=1,
        resources={GPU: "50"},
        annotations={ALLOCATED: json.dumps(half)},
        allocatePolicy="Restricted",
    )
    there = with_devices(gpu(0), gpu(1)).add(kept)

    def asks(percent: int) -> Scenario:
        resources = {GPU: percent}
        return there.job("p", tasks=1, cpu=0, resources=resources, annotations=affinity(name="r"), labels={"app": "a"})

    assert minors(run(asks(50)), "p-0") == [1]
    assert "p-0" not in run(asks(70)).bindings


def test_the_reason_names_the_reservation_whose_devices_do_not_suffice() -> None:
    """Half of each GPU is reserved, and an owner needs a whole one of the Reservation."""
    halves = {"gpu": [{"minor": minor, "resources": {CORE: "50", RATIO: "50"}} for minor in (0, 1)]}
    kept = reservation(
        "r",
        node="n",
        cpu=1,
        resources={SHARED: "2", CORE: "100", RATIO: "100"},
        annotations={ALLOCATED: json.dumps(halves)},
        allocatePolicy="Restricted",
    )
    there = with_devices(gpu(0), gpu(1)).add(kept)
    asked = {SHARED: 1, CORE: 100, RATIO: 100}
    outcome = run(there.job("p", tasks=1, cpu=0, resources=asked, annotations=affinity(), labels={"app": "a"}))

    assert "p-0" not in outcome.bindings
    assert "r: Insufficient gpu devices" in outcome.why_pod("p-0")


def test_a_reservation_has_no_more_devices_than_it_requests() -> None:
    """The annotation of a Reservation names two GPUs, and it requests one: a stranger gets the second."""
    told = {ALLOCATED: json.dumps(whole("gpu", 0, 1))}
    kept = reservation("r", node="n", cpu=1, resources={GPU: "100"}, annotations=told)
    outcome = run(with_devices(gpu(0), gpu(1)).add(kept).job("s", tasks=1, cpu=1, resources={GPU: 100}))

    assert minors(outcome, "s-0") == [1]


def test_owners_use_devices_of_volcanos_kinds() -> None:
    """Card 1 of two is reserved, by number."""
    number = {"volcano.sh/gpu-number": "1"}
    container = {"name": "c", "resources": {"requests": number, "limits": number}}
    kept = reservation(
        "r",
        node="n",
        template={"containers": [container]},
        allocatable=number,
        annotations={"volcano.sh/gpu-index": "1"},
    )
    cards = {"volcano.sh/gpu-number": 2, "volcano.sh/gpu-memory": 20}
    there = Scenario().node("n", cpu=8, resources=cards).add(kept)
    outcome = there.job("p", tasks=1, pod={"containers": [container]}, labels={"app": "a"}).run(
        "allocate",
        plugins=("gang", "predicates", "deviceshare", "reservation"),
        arguments={"deviceshare": {"deviceshare.GPUNumberEnable": True}},
    )

    assert [bind.annotations["volcano.sh/gpu-index"] for plan in outcome.rounds[0].plans for bind in plan.binds] == [
        "1"
    ]


def test_a_reservation_takes_over_the_devices_of_a_pod() -> None:
    """Both GPUs are in use: the Reservation gets that of the pod that it takes over, and keeps it for its next pod."""
    there = with_devices(gpu(0), gpu(1))
    for name, minor, app in (("stranger", 0, "b"), ("old", 1, "a")):
        there = there.running(
            name,
            on=["n"],
            cpu=1,
            resources={GPU: 100},
            labels={"app": app},
            annotations={ALLOCATED: json.dumps(whole("gpu", minor))},
        )
    taking: dict[str, Any] = {"preAllocation": True, "allocatePolicy": "Restricted", "allocateOnce": False}
    outcome = run(there.add(reservation("r", cpu=1, resources={GPU: "100"}, **taking)))

    assert minors(outcome, "r") == [1]
    (room,) = outcome.rounds[-1].snapshot.reservations.values()
    assert len(room.users) == 1


def test_a_reservation_that_has_expired_keeps_no_device() -> None:
    """Its phase still shows that it is Available. No event is about the pod that stands for it."""
    kept = reservation(
        "r", node="n", cpu=1, resources={GPU: "100"}, annotations={ALLOCATED: json.dumps(whole("gpu", 0))}, ttl="1s"
    )
    outcome = run(with_devices(gpu(0)).add(kept).job("s", tasks=1, cpu=1, resources={GPU: 100}))

    assert minors(outcome, "s-0") == [0]
    assert [event for event in outcome.events if event.name == "uid-r"] == []
