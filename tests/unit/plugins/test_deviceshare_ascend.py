"""Ascend chips of HAMi. The numbers are from a run of Volcano's package on the same inputs, unless a test says more."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.model.devices.ascend_register import ascend_cards
from pyroclast.model.devices.settings import DEFAULT, AscendChip, read_settings
from pyroclast.model.plan import Preparation
from pyroclast.model.wire import Node, ObjectMeta
from pyroclast.testing import Scenario
from tests.unit.plugins.ascend import KINDS, allocated, chips, chips_map, holding, one, register, run, with_chips
from tests.unit.plugins.cards import annotations_of, wanting, with_cards
from tests.unit.plugins.cards import one as virtual
from tests.unit.plugins.test_deviceshare_scores import scores

P, A, B3 = "Ascend310P", "Ascend910A", "Ascend910B3"
SOFT = {"huawei.com/vnpu-mode": "hami-core"}
SLICED = {"hami-vnpu-core": "true"}
ALL = Scenario().add(chips_map())


def chip(kind: str) -> AscendChip:
    """The settings of a kind of chips."""
    document = json.loads(chips_map([kind])["data"]["device-config.yaml"])
    return read_settings(document).vnpus.configs[0]


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (P, [(1, 3072, "vir01"), (3072, 3072, "vir01"), (3073, 6144, "vir02"), (6145, 12288, "vir04")]),
        (P, [(12289, 21527, ""), (24576, 21527, "")]),
        (A, [(2184, 2184, "vir02"), (2185, 4369, "vir04"), (4370, 8738, "vir08"), (8739, 17476, "vir16")]),
        (A, [(17477, 32768, ""), (32768, 32768, "")]),
        ("Ascend910B2", [(4370, 8192, "vir03_1c_8g"), (8193, 16384, "vir06_1c_16g"), (16385, 32768, "vir12_3c_32g")]),
        ("Ascend910B2", [(32769, 65536, "")]),
        (B3, [(1, 16384, "vir05_1c_16g"), (16385, 32768, "vir10_3c_32g"), (32769, 65536, "")]),
        ("Ascend910B4", [(8192, 8192, "vir05_1c_8g"), (8193, 16384, "vir10_3c_16g"), (16385, 32768, "")]),
        ("Ascend910B4-1", [(8193, 16384, "vir10_3c_16g"), (16385, 65536, ""), (65536, 65536, "")]),
    ],
)
def test_memory_is_rounded_up_to_a_template(kind: str, parts: Any) -> None:
    """More than the largest template is the whole chip."""
    assert [(asked, *(chip(kind).part_of(asked) or ())) for asked, *_ in parts] == parts
    assert chip(kind).part_of(KINDS[kind][1] + 1) is None


def test_the_binding_contains_the_chips() -> None:
    """Eight annotations; the memory is that of the template."""
    outcome = run(with_chips(Scenario(), P, 1).job("p", pod=one(P, number=1, memory=4096)))

    assert annotations_of(outcome)["p-0"] == {
        "hami.io/Ascend310P-devices-allocated": "id0,Ascend310P,6144,0:;",
        "hami.io/Ascend310P-devices-to-allocate": "id0,Ascend310P,6144,0:;",
        "huawei.com/Ascend310P": '[{"UUID":"id0","temp":"vir02"}]',
        "hami.io/vgpu-node": "n",
        "hami.io/vgpu-time": "1800000000",
        "hami.io/bind-time": "1800000000",
        "hami.io/bind-phase": "allocating",
        "predicate-time": "1800000000",
    }


@pytest.mark.parametrize(
    ("kind", "limits", "ids", "runtime"),
    [
        (P, {"memory": 1024}, "id0,Ascend310P,3072,0:;", [{"UUID": "id0", "temp": "vir01"}]),
        (P, {"number": 1}, "id0,Ascend310P,21527,0:;", [{"UUID": "id0"}]),
        (P, {"number": 1, "memory": 24000}, "id0,Ascend310P,21527,0:;", [{"UUID": "id0"}]),
        (
            P,
            {"number": 2},
            "id0,Ascend310P,21527,0:id1,Ascend310P,21527,0:;",
            [{"UUID": "id0"}, {"UUID": "id1"}],
        ),
        (
            "Ascend910B4",
            {"number": 1, "memory": 9000},
            "id0,Ascend910B4,16384,0:;",
            [{"UUID": "id0", "temp": "vir10_3c_16g"}],
        ),
        (
            "Ascend910B2",
            {"number": 1, "memory": 20480},
            "id0,Ascend910B2,32768,0:;",
            [{"UUID": "id0", "temp": "vir12_3c_32g"}],
        ),
    ],
)
def test_what_of_each_chip(kind: str, limits: Any, ids: str, runtime: Any) -> None:
    """Memory alone requests one chip, and a number alone whole chips."""
    outcome = run(with_chips(ALL, kind, 2).job("p", pod=one(kind, **limits)))

    assert allocated(outcome, kind) == ids
    assert json.loads(annotations_of(outcome)["p-0"][f"huawei.com/{kind}"]) == runtime


def test_containers_get_different_chips() -> None:
    """Each container ends with a semicolon; the fuller chip comes first with `binpack`."""
    there = holding(with_chips(Scenario(), P, 2), P, "r", 3072, 1)
    spec = wanting(chips(P, "a", number=1, memory=3000, cores=1), chips(P, "b", number=1, memory=6000, cores=2))
    outcome = run(there.job("p", pod=spec), SchedulePolicy="binpack")

    assert allocated(outcome, P) == "id1,Ascend310P,3072,1:;id0,Ascend310P,6144,2:;"
    assert run(with_chips(Scenario(), P, 1).job("p", pod=spec)).bindings == {}


@pytest.mark.parametrize(
    ("held", "policy", "memory", "card"),
    [
        ({}, "", 3000, 0),
        ({1: 3072, 2: 6144}, "binpack", 3000, 2),
        ({1: 12288}, "binpack", 12000, 0),
        ({0: 3072}, "spread", 3000, 1),
    ],
)
def test_chips_go_by_policy(held: dict[int, int], policy: str, memory: int, card: int) -> None:
    """`binpack`: the fullest with enough memory; `spread`: an idle one; otherwise the first."""
    there = with_chips(Scenario(), P, 3)
    for at, amount in held.items():
        there = holding(there, P, f"r{at}", amount, at)
    outcome = run(there.job("p", pod=one(P, number=1, memory=memory)), SchedulePolicy=policy)

    assert allocated(outcome, P).startswith(f"id{card},")


@pytest.mark.parametrize(
    ("held", "limits", "more"),
    [
        ([], {"number": 1, "memory": 3000, "cores": 9}, {}),
        ([(3072, 8)], {"number": 1, "memory": 3000}, {}),
        ([(3072, 0)], {"number": 1, "memory": 3000}, {"shares": 1}),
        ([(3072, 0)], {"number": 1}, {}),
        ([(12288, 6)], {"number": 1, "memory": 6144, "cores": 4}, {}),
        ([(12288, 0)], {"number": 1, "memory": 12288}, {}),
    ],
)
def test_chips_without_enough_are_not_given(held: Any, limits: Any, more: Any) -> None:
    """Too many cores; all cores in use and none requested; no share, memory or core left."""
    there = with_chips(Scenario(), P, 1, **more)
    for memory, cores in held:
        there = holding(there, P, f"r{memory}", memory, 0, cores=cores)
    outcome = run(_roomy(there, P).job("p", pod=one(P, **limits)))

    assert outcome.bindings == {}
    assert "no enough ascend device available" in outcome.why_pod("p-0")
    (refusal,) = outcome.refusals_of_pod("p-0")
    assert refusal.resolvable is bool(held)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"number": 2, "memory": 3000}, "several chips are allocated whole only"),
        ({"number": 1, "memory": 24577}, "huawei.com/Ascend310P-memory: 24577, expected at most 24576"),
    ],
)
def test_requests_that_no_chip_can_serve_are_refused(limits: Any, reason: str) -> None:
    """Volcano gives a chip without any memory to a pod that requests too much."""
    outcome = run(with_chips(Scenario(), P, 2).job("p", pod=one(P, **limits)))

    assert reason in outcome.why_pod("p-0")
    (refusal,) = outcome.refusals_of_pod("p-0")
    assert not refusal.resolvable


@pytest.mark.parametrize(
    ("limits", "ids", "runtime"),
    [
        (
            {"number": 1, "memory": 4096, "cores": 90},
            "id0,Ascend310P,4096,90:;",
            [{"UUID": "id0", "memory": 4096, "core": 90}],
        ),
        (
            {"number": 2, "memory": 5000, "cores": 10},
            "id0,Ascend310P,5000,10:id1,Ascend310P,5000,10:;",
            [{"UUID": f"id{at}", "memory": 5000, "core": 10} for at in (0, 1)],
        ),
        ({"number": 1, "memory": 1}, "id0,Ascend310P,1,0:;", [{"UUID": "id0", "memory": 1}]),
    ],
)
def test_soft_slices_are_as_requested(limits: Any, ids: str, runtime: Any) -> None:
    """Cores are percent, and several chips may be shared."""
    there = with_chips(Scenario(), P, 2, annotations=SLICED)
    outcome = run(there.job("p", pod=one(P, **limits), annotations=SOFT))

    assert allocated(outcome, P) == ids
    assert json.loads(annotations_of(outcome)["p-0"]["huawei.com/Ascend310P"]) == runtime


@pytest.mark.parametrize(("held", "cores"), [(90, 20), (0, 100)])
def test_soft_slices_have_100_percent_of_the_cores(held: int, cores: int) -> None:
    """A request of all cores needs an idle chip."""
    there = with_chips(Scenario(), P, 1, annotations=SLICED)
    there = holding(there, P, "r", 4096, 0, cores=held, annotations=SOFT)

    assert run(there.job("p", pod=one(P, number=1, memory=4096, cores=cores), annotations=SOFT)).bindings == {}


@pytest.mark.parametrize(
    ("configured", "annotation", "is_bound"),
    [(False, None, False), (False, "true", True), (True, None, True), (True, "false", False), (True, "True", False)],
)
def test_nodes_are_sliced_softly_by_settings_or_annotation(
    configured: bool,  # a column of the table
    annotation: str | None,
    *,
    is_bound: bool,
) -> None:
    """The annotation of the node decides. No eviction makes another node of it."""
    base = Scenario().add(chips_map(hamiVnpuCore=configured))
    there = with_chips(base, P, 1, annotations={} if annotation is None else {"hami-vnpu-core": annotation})
    outcome = run(there.job("p", pod=one(P, number=1, memory=4096, cores=90), annotations=SOFT))

    assert bool(outcome.bindings) is is_bound
    assert is_bound or "are not sliced softly (hami-core)" in outcome.why_pod("p-0")


@pytest.mark.parametrize(
    ("kind", "networks", "held", "counts", "ids"),
    [
        (A, [0, 1, 1, 0], [0], [2], [1, 2]),
        (A, [0, 1, 1, 1], [], [3], [1, 2, 3]),
        (A, [0, 0, 1, 1], [], [1, 2], [0, 2, 3]),
        (B3, [0, 0, 0, 0, 1, 1, 1, 1], [0], [4], [4, 5, 6, 7]),
        (P, [0, 1, 1, 0], [0], [2], [1, 2]),
        (A, [0, 1, 1, 1], [], [2], [1, 2]),
        (P, [0, 1, 1, 1], [], [2], [0, 1]),
    ],
)
def test_chips_come_from_the_largest_network(
    kind: str, networks: Any, held: list[int], counts: list[int], ids: list[int]
) -> None:
    """Those of kind 910 do. The last two rows are the rule without a run of Volcano, whose order is random there."""
    there = with_chips(ALL, kind, len(networks), networks=networks, shares=1)
    for at in held:
        there = holding(there, kind, f"r{at}", KINDS[kind][0], at)
    spec = wanting(*(chips(kind, f"c{at}", number=count) for at, count in enumerate(counts)))
    outcome = run(there.job("p", pod=spec))

    assert [at for container in ids_of(allocated(outcome, kind)) for at in container] == ids


def ids_of(text: str) -> list[list[int]]:
    """Numbers of the chips in an annotation, by container."""
    return [
        [int(each.partition(",")[0].removeprefix("id")) for each in container.split(":") if each]
        for container in text.split(";")
        if container
    ]


@pytest.mark.parametrize(
    ("kind", "node", "policy", "containers", "score"),
    [
        (P, (3, {}, {1: 3072, 2: 6144}), "binpack", [{"number": 1, "memory": 3000}], 29),
        (P, (2, {}, {0: 3072}), "spread", [{"number": 1, "memory": 3000}], 100),
        (P, (1, {}, {0: 3072}), "spread", [{"number": 1, "memory": 3000}], 0),
        (P, (2, {}, {1: 3072}), "binpack", [{"number": 1, "memory": 3000}, {"number": 1, "memory": 6000}], 14),
        (A, (4, {"networks": [0, 1, 1, 0]}, {0: 32768}), "binpack", [{"number": 2}], 10),
        (B3, (8, {"networks": [0] * 4 + [1] * 4}, {0: 65536}), "spread", [{"number": 4}], 110),
        (A, (2, {"networks": [0, 1]}, {}), "", [{"number": 2}], 5),
        (A, (4, {"networks": [0, 0, 1, 1]}, {}), "", [{"number": 1}, {"number": 2}], 7),
        (P, (2, {"networks": [0, 0]}, {}), "", [{"number": 2}], 0),
        (A, (2, {}, {}), "", [{"number": 2}], 0),
    ],
)
def test_nodes_are_scored(kind: str, node: Any, policy: str, containers: Any, score: float) -> None:
    """The first chip of each container, before the pod has it, and 10 for all chips in one network.

    Rows 7 and 8 count all chips of a pod, where Volcano counts the first one of each container: it gives 10 and 5.
    """
    count, told, held = node
    there = with_chips(ALL, kind, count, **told)
    for at, memory in held.items():
        there = holding(there, kind, f"r{at}", memory, at)
    spec = wanting(*(chips(kind, f"c{at}", **each) for at, each in enumerate(containers)))
    found = scores(
        there.job("p", pod=spec), AscendHAMiVNPUEnable=True, VGPUEnable=False, SchedulePolicy=policy, ScheduleWeight=2
    )

    assert found == {"n": 2 * score}


def _roomy(scenario: Scenario, kind: str) -> Scenario:
    """Let nodes offer so many chips that the chips alone decide."""
    return Scenario(
        tuple(
            {**each, "status": {**each["status"], "allocatable": {**each["status"]["allocatable"], kind_of(kind): 99}}}
            if each["kind"] == "Node"
            else each
            for each in scenario.objects
        )
    )


def kind_of(kind: str) -> str:
    """The resource of a kind of chips."""
    return f"huawei.com/{kind}"


def test_nodes_are_locked_for_the_device_plugin() -> None:
    """One pod with chips is bound to a node at a time."""
    outcome = run(
        with_chips(Scenario(), P, 2).job("p", tasks=2, min_available=1, pod=one(P, number=1)), NodeLockEnable=True
    )

    assert outcome.why_pod("p-1").endswith("1 node has been locked within 5 minutes.")
    (bind,) = [bind for plan in outcome.report.plans for bind in plan.binds]
    details = {"annotation": "hami.io/mutex.lock"}
    assert bind.preparations == (Preparation(kind="lock-node", namespace="", name="n", details=details),)


def test_all_containers_of_a_running_pod_count() -> None:
    """Volcano loses the chips of the second container: it reads `;id1` as an id, and gives the chip twice."""
    there = with_chips(Scenario(), P, 3)
    ids = "id0,Ascend310P,21527,0:;id1,Ascend310P,21527,0:;"
    spec = wanting(chips(P, "a", number=1), chips(P, "b", number=1))
    there = there.running("r", on=["n"], pod=spec, annotations={"hami.io/Ascend310P-devices-allocated": ids})

    assert allocated(run(there.job("p", pod=one(P, number=1))), P) == "id2,Ascend310P,21527,0:;"


def test_chips_of_several_kinds_on_one_node() -> None:
    """Each kind has its annotations, and a pod may request both."""
    both = (
        Scenario()
        .add(chips_map())
        .node(
            "n",
            cpu=64,
            resources={kind_of(P): 7, kind_of(A): 1},
            annotations={
                f"hami.io/node-register-{P}": register(P, 1),
                f"hami.io/node-register-{A}": register(A, 1, shares=1, first=5),
            },
        )
    )
    spec = wanting(chips(A, "a", number=1), chips(P, "b", number=1, memory=3000))
    outcome = run(both.job("p", pod=spec))

    assert allocated(outcome, P) == "id0,Ascend310P,3072,0:;"
    assert allocated(outcome, A) == "id5,Ascend910A,32768,0:;"


def test_chips_stand_beside_virtual_cards() -> None:
    """Both kinds of nodes in one cluster, each with its annotations."""
    there = with_chips(with_cards(Scenario(), "gpu", 1000), P, 1, name="npu")
    there = there.job("p", pod=one(P, number=1)).job("q", pod=virtual(number=1, memory=10))
    outcome = run(there, VGPUEnable=True, NodeLockEnable=True, ScheduleWeight=1)

    assert outcome.bindings == {"p-0": "npu", "q-0": "gpu"}
    assert "volcano.sh/vgpu-ids-new" in annotations_of(outcome)["q-0"]
    assert allocated(outcome, P)


def test_unhealthy_chips_are_used_unless_an_argument_skips_them() -> None:
    """Volcano has no such argument."""
    there = with_chips(Scenario(), P, 1, health=False).job("p", pod=one(P, number=1))

    assert allocated(run(there), P)
    assert run(there, SkipUnhealthyCards=True).bindings == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "Input data was truncated"),
        ('[{"id":"a"},{"id":"a"}]', "2 chips are called 'a'"),
        ('[{"id":""}]', "chip '': expected an id without"),
        ('[{"id":"a,b"}]', "chip 'a,b': expected an id without"),
        ('[{"id":"a","count":-1}]', "Expected `int` >= 0"),
        ('[{"id":"a","devmem":4294967296}]', "Expected `int` <"),
        ('[{"id":"a","custominfo":{"NetworkID":"x"}}]', "NetworkID: expected a number"),
        ('[{"id":"a","custominfo":{"NetworkID":1e300}}]', "NetworkID: expected a number"),
        (json.dumps([{"id": str(at)} for at in range(1025)]), "1025 chips are more than 1024"),
        ("[" * 100_000, "nested"),
    ],
)
def test_an_invalid_register_is_reported_and_the_node_accepts_no_pod(text: str, fault: str) -> None:
    """Volcano places the pod without chips."""
    there = Scenario().node("n", resources={kind_of(P): 7}, annotations={f"hami.io/node-register-{P}": text})
    outcome = run(there.job("p", pod=one(P, number=1)).job("plain"))

    assert outcome.bindings == {"plain-0": "n"}
    (event,) = [each for each in outcome.events if each.reason == "DeviceRegisterInvalid"]
    assert f"hami.io/node-register-{P}" in event.message
    assert fault.lower() in event.message.lower()


@pytest.mark.parametrize("text", ["[]", "null"])
def test_a_node_without_chips_has_none(text: str) -> None:
    """Its amounts count, as for a node without a register."""
    metadata = ObjectMeta(name="n", annotations={f"hami.io/node-register-{P}": text})

    assert ascend_cards(Node(metadata=metadata), DEFAULT.vnpus) is None


def test_memory_and_cores_of_nodes_do_not_limit_pods() -> None:
    """HAMi's device plugin offers neither, and requests are rounded up to templates anyway."""
    there = with_chips(Scenario(), P, 1).job("p", tasks=4, min_available=1, pod=one(P, number=1, memory=3000, cores=2))
    outcome = run(there)

    assert len(outcome.bindings) == 4
    assert run(with_chips(Scenario(), P, 1, shares=1).job("p", pod=one(P, number=1, memory=24576))).bindings


def test_queues_can_limit_the_memory_of_chips() -> None:
    """A pod counts with its request, not with the template."""
    there = with_chips(Scenario(), P, 1).queue("q", capability={"huawei.com/Ascend310P-memory": 3000})
    job = there.job("p", queue="q", tasks=3, min_available=1, pod=one(P, number=1, memory=1500))
    outcome = job.run(
        "enqueue",
        "allocate",
        plugins=("gang", "predicates", "capacity", "deviceshare"),
        arguments={"deviceshare": {"deviceshare.AscendHAMiVNPUEnable": True}},
    )

    assert len(outcome.bindings) == 2
    assert allocated(outcome, P, "p-1") == "id0,Ascend310P,3072,0:;"
    assert "huawei.com/Ascend310P-memory" in outcome.why_pod("p-2")


@pytest.mark.parametrize(("limits", "evicted"), [({"number": 1}, ["low-0"]), ({"number": 1, "cores": 9}, [])])
def test_victims_free_their_chips(limits: Any, evicted: list[str]) -> None:
    """A pod of a higher priority gets the chip, unless the chip could not serve it even if it were free."""
    there = with_chips(Scenario().priority_class("high", 100).queue("q"), P, 1, shares=2)
    there = holding(there, P, "low", 21527, 0, queue="q")
    job = there.job("high", queue="q", priority_class="high", priority=100, phase="Inqueue", pod=one(P, **limits))
    outcome = job.run(
        "allocate",
        "preempt",
        plugins=(("priority", "conformance"), ("gang", "predicates", "deviceshare")),
        arguments={"deviceshare": {"deviceshare.AscendHAMiVNPUEnable": True}},
        cycles=3,
    )

    assert outcome.evictions == evicted
    assert bool(allocated(outcome, P, "high-0")) is bool(evicted)


def test_the_list_form_of_the_settings_is_read() -> None:
    """The form before soft slicing."""
    old, new = (
        read_settings(json.loads(chips_map(as_list=as_list)["data"]["device-config.yaml"])) for as_list in (True, False)
    )

    assert old == new
    assert [each.common_word for each in old.vnpus.configs] == list(KINDS)
    assert not old.vnpus.hami_vnpu_core


@pytest.mark.parametrize(
    ("configs", "fault"),
    [
        ([{"resourceName": "r"}], "commonWord"),
        ([{"commonWord": "a/b", "resourceName": "r"}], "vnpus.configs[0].commonWord: 'a/b'"),
        ([{"commonWord": "A", "resourceName": ""}], "vnpus.configs[0].resourceName: expected the name"),
        ([{"commonWord": "A", "resourceName": name} for name in "rs"], "vnpus.configs: 'A' is there twice"),
        ([{"commonWord": word, "resourceName": "r"} for word in "AB"], "vnpus.configs: 'r' is there twice"),
        ([{"commonWord": f"A{at}", "resourceName": f"r{at}"} for at in range(65)], "65 are more than 64"),
        (
            [{"commonWord": "A", "resourceName": "r", "templates": [{"name": "t", "memory": 1}] * 65}],
            "templates: 65 are more than 64",
        ),
        ([{"commonWord": "A", "resourceName": "r", "memoryCapacity": -1}], "memoryCapacity"),
    ],
)
def test_invalid_settings_are_reported(configs: Any, fault: str) -> None:
    """The defaults apply then, as for virtual cards."""
    with pytest.raises(ValueError, match="vnpus") as raised:
        read_settings({"vnpus": configs})

    assert fault in str(raised.value)


# The rules once more, card by card as Volcano's package has them, against which the plugin is compared.


def plain(cards: list[dict[str, int]], requests: list[Any], kind: str, policy: str, *, soft: bool) -> list[list[int]]:
    """Return the chips of each container by Volcano's loop; none if there are too few."""
    by_score = sorted(range(len(cards)), key=lambda at: (-plain_score(cards[at], policy), at))
    taken: list[int] = []
    found = []
    for number, memory, cores in requests:
        part = memory or cards[0]["memory"]
        if not soft:
            part = next((size for _, size in KINDS[kind][3] if part <= size), KINDS[kind][0])
        able = []
        for at in by_score:
            card = cards[at]
            total = 100 if soft else card["cores"]
            if at in taken or card["used"] >= card["shares"] or card["memory"] - card["used_memory"] < part:
                continue
            if total - card["used_cores"] < cores or (total == 100 and cores == 100 and card["used"] > 0):
                continue
            if total != 0 and card["used_cores"] == total and cores == 0:
                continue
            able.append(at)
        if len(able) < number:
            return []
        if kind.startswith("Ascend910"):
            groups: dict[int, list[int]] = {}
            for at in able:
                groups.setdefault(cards[at]["network"], []).append(at)
            able = [at for group in sorted(groups.values(), key=len, reverse=True) for at in group]
        found.append(able[:number])
        taken += able[:number]
    return found


def plain_score(card: dict[str, int], policy: str) -> float:
    """Return the score of a chip."""
    if policy == "binpack":
        return 100 * (card["used_memory"] / card["memory"])
    return 100.0 if policy == "spread" and not card["used"] else 0.0


@given(
    kind=st.sampled_from([P, A]),
    policy=st.sampled_from(["", "binpack", "spread"]),
    soft=st.booleans(),
    state=st.lists(
        st.tuples(st.sampled_from([0, 1, 2]), st.sampled_from([0, 1, 4, 8]), st.integers(0, 2)), min_size=1, max_size=5
    ),
    requests=st.lists(
        st.tuples(st.integers(1, 3), st.sampled_from([0, 1000, 5000]), st.sampled_from([0, 1, 4, 30])),
        min_size=1,
        max_size=3,
    ),
)
def test_chips_are_those_of_the_plain_form(
    kind: str, policy: str, state: list[Any], requests: list[Any], *, soft: bool
) -> None:
    """Each running pod has one chip, with the smallest template and some cores."""
    requests = [(number, memory if soft or number == 1 else 0, cores) for number, memory, cores in requests]
    memory, _, cores, templates = KINDS[kind]
    cards, holders = [], list[tuple[int, int]]()
    for at, (used, used_cores, network) in enumerate(state):
        held = [(at, min(used_cores, cores // max(used, 1))) for _ in range(used)]
        holders += held
        cards.append(
            {
                "memory": memory,
                "cores": cores,
                "shares": 3,
                "network": network,
                "used": used,
                "used_memory": used * templates[0][1],
                "used_cores": sum(each for _, each in held),
            }
        )
    networks = [network for *_, network in state]
    there = with_chips(ALL, kind, len(state), shares=3, networks=networks, annotations=SLICED)
    for number, (at, each) in enumerate(holders):
        there = holding(there, kind, f"r{number}", templates[0][1], at, cores=each)
    spec = wanting(
        *(
            chips(kind, f"c{at}", **{"number": number, **({"memory": size} if size else {}), "cores": each})
            for at, (number, size, each) in enumerate(requests)
        )
    )
    outcome = run(_roomy(there, kind).job("p", pod=spec, annotations=SOFT if soft else None), SchedulePolicy=policy)

    assert ids_of(allocated(outcome, kind)) == plain(cards, requests, kind, policy, soft=soft)
