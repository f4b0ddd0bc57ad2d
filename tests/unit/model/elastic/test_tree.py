"""Trees of quotas: what they ask for, what they may have, and what is wrong with them."""

from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.model import wire
from pyroclast.model.elastic.names import (
    ALLOW_LENT_RESOURCE,
    DEFAULT_QUOTA,
    IGNORE_DEFAULT_TREE,
    IS_PARENT,
    IS_ROOT,
    NAMESPACES,
    PARENT,
    ROOT_QUOTA,
    SHARED_WEIGHT,
    SYSTEM_QUOTA,
    TOTAL_RESOURCE,
    TREE_ID,
)
from pyroclast.model.elastic.pod_quota import Belonging
from pyroclast.model.elastic.quota import ParsedQuota, read_quota
from pyroclast.model.elastic.tree import QuotaTree, faults_of
from pyroclast.model.errors import ObjectError
from pyroclast.model.resources import ResourceSpace

SPACE = ResourceSpace()
CPU, MEMORY = 0, 1
G = 1024**3


def quota(
    name: str,
    *,
    least: Mapping[str, Any],
    most: Mapping[str, Any],
    parent: str = "",
    is_parent: bool = False,
    lends: bool = True,
    tree: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    report: Any = None,
) -> ParsedQuota:
    """Read a quota from what an object says."""
    labels = {IS_PARENT: str(is_parent).lower(), ALLOW_LENT_RESOURCE: str(lends).lower(), **(labels or {})}
    if tree:
        labels[TREE_ID] = tree
    if parent:
        labels[PARENT] = parent
    metadata = wire.ObjectMeta(name=name, namespace="quotas", labels=labels, annotations=annotations or {})
    faults: list[ObjectError] = []
    read = read_quota(
        wire.ElasticQuota(metadata=metadata, spec=wire.ElasticQuotaSpec(min=least, max=most)), report or faults.append
    )
    assert not faults
    return read


def top(name: str, tree: str, total: str, **more: Any) -> ParsedQuota:
    """The root of a tree."""
    labels = {IS_ROOT: "true", **more.pop("labels", {})}
    annotations = {TOTAL_RESOURCE: total}
    return cores(name, 0, 1000, is_parent=True, tree=tree, labels=labels, annotations=annotations, **more)


def cores(name: str, least: int, most: int, **more: Any) -> ParsedQuota:
    """A quota of CPUs alone."""
    return quota(name, least={"cpu": least}, most={"cpu": most}, **more)


def settled(
    total: Mapping[str, Any], quotas: list[ParsedQuota], asked: Mapping[str, list[int]], **more: Any
) -> QuotaTree:
    """Divide a cluster; what quotas' pods ask for is by row."""
    tree = QuotaTree(SPACE, quotas, {})
    for name, amounts in asked.items():
        tree.accounts[name].ask(amounts, is_preemptible=True)
    tree.settle(SPACE.vector({name: amount * 1000 for name, amount in total.items()}).tolist(), **more)
    return tree


@pytest.mark.parametrize(
    ("lend", "asked", "runtimes"),
    [
        ((False, False, False), (0, 0), (60, 20, 20)),
        ((False, False, False), (40, 0), (60, 40, 20)),
        ((False, False, False), (60, 0), (80, 60, 20)),
        ((True, False, True), (0, 0), (20, 20, 0)),
        ((True, False, True), (40, 0), (40, 40, 0)),
        ((True, False, True), (60, 0), (60, 60, 0)),
        ((True, False, False), (0, 0), (40, 20, 20)),
        ((True, False, False), (40, 0), (60, 40, 20)),
        ((True, False, False), (60, 0), (80, 60, 20)),
    ],
)
def test_quotas_that_do_not_lend_keep_their_guarantee(
    lend: tuple[bool, bool, bool], asked: tuple[int, int], runtimes: tuple[int, int, int]
) -> None:
    """A quota that does not lend asks for its guarantee at least, of those above it as well."""
    quotas = [
        cores("p", 60, 96, is_parent=True, lends=lend[0]),
        cores("c1", 20, 96, parent="p", lends=lend[1]),
        cores("c2", 20, 96, parent="p", lends=lend[2]),
    ]
    wants = {f"c{at + 1}": [amount * 1000, 0, 0] for at, amount in enumerate(asked)}
    tree = settled({"cpu": 96}, quotas, wants)
    assert tuple(tree.accounts[name].runtime[CPU] // 1000 for name in ("p", "c1", "c2")) == runtimes


GROWING = (
    cores("q1", 20, 40, is_parent=True),
    cores("q2", 10, 40, parent="q1"),
    cores("q3", 5, 40, parent="q1"),
)


@pytest.mark.parametrize(
    ("used", "child", "parent"),
    [(0, (0, 10), (15, 20)), (5, (5, 10), (15, 20)), (15, (15, 15), (20, 20)), (25, (25, 25), (30, 30))],
)
def test_what_is_in_use_is_guaranteed(used: int, child: tuple[int, int], parent: tuple[int, int]) -> None:
    """The worked example of guarantees by use: allocated and guaranteed amounts of a child and of its parent."""
    tree = QuotaTree(SPACE, GROWING, {}, guarantees_use=True)
    for count in (tree.accounts["q2"].ask, tree.accounts["q2"].use):
        count([used * 1000, 0, 0], is_preemptible=True)
    tree.settle([50_000, 0, 0])
    for name, expected in (("q2", child), ("q1", parent)):
        account = tree.accounts[name]
        assert (account.allocated[CPU] // 1000, account.guaranteed[CPU] // 1000) == expected
    assert tree.accounts["q2"].request[CPU] == max(used, 10) * 1000
    assert tree.accounts["q2"].runtime[CPU] == max(used, 10) * 1000


def test_an_amount_in_use_is_not_divided_again() -> None:
    """Example E3: 45 of 100 are in use by a quota without a weight, and the others divide 55, though all ask for more.

    No quota lends, so the guarantee of 10 stays with the quota that requests 5.
    """
    requests = {"n1": (10, 40, 5), "n2": (15, 60, 20), "n3": (20, 50, 40), "n4": (15, 0, 70)}
    quotas = [
        quota(
            name,
            least={"cpu": least},
            most={"cpu": 100},
            annotations={SHARED_WEIGHT: f'{{"cpu": {weight}, "memory": 1}}'},
        )
        for name, (least, weight, _) in requests.items()
    ]
    tree = QuotaTree(SPACE, quotas, {}, guarantees_use=True)
    for name, (_, _, request) in requests.items():
        tree.accounts[name].ask([request * 1000, 0, 0], is_preemptible=True)
    tree.accounts["n4"].use([45_000, 0, 0], is_preemptible=True)
    tree.settle([100_000, 0, 0])
    assert [tree.accounts[name].runtime[CPU] // 1000 for name in requests] == [10, 20, 25, 45]


def test_weights_that_are_not_given_are_the_maximum() -> None:
    """One that is given counts, a zero too; one of a resource without a maximum does not."""
    weight = {SHARED_WEIGHT: '{"cpu": 0, "memory": "1Gi", "gpu": 5}'}
    most = {"cpu": 8, "memory": "4Gi", "example.com/card": 2}
    read = quota("q", least={}, most=most, annotations=weight)
    assert read.weight == {"cpu": 0, "memory": G * 1000, "example.com/card": 2000}


def test_guarantees_by_use_are_not_cut() -> None:
    """The cluster has lost nodes: no pod that runs exceeds the amount of its quota."""
    tree = QuotaTree(SPACE, GROWING, {}, guarantees_use=True)
    tree.accounts["q2"].ask([25_000, 0, 0], is_preemptible=True)
    tree.accounts["q2"].use([25_000, 0, 0], is_preemptible=True)
    tree.settle([8_000, 0, 0])
    assert [tree.accounts[name].runtime[CPU] for name in ("q1", "q2", "q3")] == [30_000, 25_000, 5_000]


def three_below() -> list[ParsedQuota]:
    """A parent that is guaranteed 300, and three below it that are guaranteed 100 each."""
    both = {"cpu": 300, "memory": "300Gi"}
    each = {"cpu": 100, "memory": "100Gi"}
    most = {"cpu": 600, "memory": "600Gi"}
    return [
        quota("p", least=both, most=most, is_parent=True),
        *(quota(name, least=each, most=most, parent="p") for name in "abc"),
    ]


def test_guarantees_are_cut_where_the_cluster_is_short() -> None:
    """Two thirds are there: the parent's guarantee is all of it, and each below it has a third of that."""
    wants = {name: [200_000, 200 * G, 0] for name in "abc"}
    tree = settled({"cpu": 200, "memory": 200 * G}, three_below(), wants)
    parent, *below = (tree.accounts[name] for name in "pabc")
    assert parent.guaranteed[:2] == [200_000, 200 * G]
    assert [each.guaranteed[:2] for each in below] == [[66_666, 71_582_788_266]] * 3
    assert [each.runtime[CPU] for each in below] == [66_667, 66_667, 66_666]


def test_guarantees_are_whole_where_the_cluster_suffices() -> None:
    """Guarantees stay, and what is left is divided."""
    wants = {name: [200_000, 200 * G, 0] for name in "abc"}
    tree = settled({"cpu": 600, "memory": 600 * G}, three_below(), wants)
    assert tree.accounts["p"].guaranteed[CPU] == 300_000
    assert [tree.accounts[name].guaranteed[CPU] for name in "abc"] == [100_000] * 3
    assert [tree.accounts[name].runtime[CPU] for name in "abc"] == [200_000] * 3


def test_what_one_does_not_ask_for_goes_to_the_others() -> None:
    """Half each for two, nothing for the one that asks for nothing."""
    wants = {"a": [200_000, 200 * G, 0], "c": [200_000, 200 * G, 0]}
    tree = settled({"cpu": 200, "memory": 200 * G}, three_below(), wants)
    assert [tree.accounts[name].runtime[CPU] for name in "abc"] == [100_000, 0, 100_000]


def test_guarantees_are_not_scaled_if_configured() -> None:
    """Together they may exceed what is there."""
    wants = {name: [200_000, 200 * G, 0] for name in "abc"}
    tree = settled({"cpu": 200, "memory": 200 * G}, three_below(), wants, cuts_guarantees=False)
    assert [tree.accounts[name].runtime[CPU] for name in "pabc"] == [300_000, 100_000, 100_000, 100_000]


@pytest.mark.parametrize(
    ("total", "above", "below", "asked", "runtime"),
    [
        ((350, 1800), (300, 1024), (500, 2048), (400, 1500), (300, 1024)),
        ((300, 8000), (600, 4096), (500, 2048), (500, 4096), (300, 2048)),
    ],
)
def test_each_level_caps(
    total: tuple[int, int],
    above: tuple[int, int],
    below: tuple[int, int],
    asked: tuple[int, int],
    runtime: tuple[int, int],
) -> None:
    """No quota exceeds the cluster, the quota above, or its own maximum."""

    def most(amounts: tuple[int, int]) -> Mapping[str, Any]:
        return {"cpu": amounts[0], "memory": f"{amounts[1]}Gi"}

    quotas = [
        quota("p", least={}, most=most(above), is_parent=True),
        quota("c", least={}, most=most(below), parent="p"),
    ]
    tree = settled({"cpu": total[0], "memory": total[1] * G}, quotas, {"c": [asked[0] * 1000, asked[1] * G, 0]})
    assert tree.accounts["c"].runtime[:2] == [runtime[0] * 1000, runtime[1] * G]


def test_a_weight_counts_in_place_of_the_maximum() -> None:
    """Three quarters and one quarter of what is left."""
    quotas = [
        cores("a", 0, 100, annotations={SHARED_WEIGHT: '{"cpu": "3"}'}),
        cores("b", 0, 100, annotations={SHARED_WEIGHT: '{"cpu": 1}'}),
    ]
    tree = settled({"cpu": 40}, quotas, {name: [100_000, 0, 0] for name in "ab"})
    assert [tree.accounts[name].runtime[CPU] for name in "ab"] == [30_000, 10_000]


@pytest.mark.parametrize("text", ["", "{}", '{"cpu": "0"}', "nonsense", '{"cpu": "-1"}', '["cpu"]', '{"cpu": "x"}'])
def test_a_weight_that_says_nothing_is_the_maximum(text: str) -> None:
    """A malformed annotation is reported, and counts as absent."""
    faults: list[ObjectError] = []
    read = cores("a", 0, 7, annotations={SHARED_WEIGHT: text}, report=faults.append)
    assert read.weight == {"cpu": 7000}
    assert bool(faults) is (text not in ("", "{}", '{"cpu": "0"}'))


@pytest.mark.parametrize("text", ["nonsense", '{"a": 1}', "[1]"])
def test_namespaces_that_cannot_be_read_are_none(text: str) -> None:
    """They are reported."""
    faults: list[ObjectError] = []
    assert cores("a", 0, 7, annotations={NAMESPACES: text}, report=faults.append).namespaces == ()
    assert [fault.path for fault in faults] == [f"metadata.annotations.{NAMESPACES}"]


@pytest.mark.parametrize(
    ("least", "most", "path"),
    [
        ({"cpu": "x"}, {"cpu": 1}, "spec.min.cpu"),
        ({}, {"cpu": "1e"}, "spec.max.cpu"),
        ({}, {"memory": "-1Gi"}, "spec.max.memory"),
        ({"cpu": 2}, {"cpu": 1}, "spec.min.cpu"),
        ({"memory": "1Gi"}, {"cpu": 1}, "spec.min.memory"),
    ],
)
def test_amounts_that_make_no_sense_make_a_faulty_quota(least: dict[str, Any], most: dict[str, Any], path: str) -> None:
    """The object is reported with the field, and none of its amounts counts."""
    faults: list[ObjectError] = []
    read = quota("a", least=least, most=most, report=faults.append)
    assert [(fault.name, fault.path) for fault in faults] == [("quotas/a", path)]
    assert read.fault.startswith(f"{path}: ")
    assert (read.minimum, read.maximum, read.weight) == ({}, {}, {})


def test_what_stands_apart_takes_from_the_cluster() -> None:
    """Use of the default and of the system quota is not there for others, and these may have their maximum."""
    tree = QuotaTree(SPACE, [cores("a", 0, 100)], {DEFAULT_QUOTA: {"cpu": 50_000}, SYSTEM_QUOTA: {"cpu": 9_000}})
    tree.accounts["a"].ask([100_000, 0, 0], is_preemptible=True)
    tree.accounts[DEFAULT_QUOTA].use([30_000, 0, 0], is_preemptible=True)
    tree.accounts[SYSTEM_QUOTA].use([5_000, 0, 0], is_preemptible=True)
    tree.settle([100_000, 0, 0])
    assert tree.root.runtime[CPU] == 65_000
    assert tree.accounts["a"].runtime[CPU] == 65_000
    assert tree.accounts[DEFAULT_QUOTA].runtime[CPU] == 50_000


def test_use_counts_up_to_the_root() -> None:
    """With its sign, and only for resources that the quota speaks of."""
    quotas = [cores("p", 0, 9, is_parent=True), cores("c", 0, 9, parent="p")]
    tree = QuotaTree(SPACE, quotas, {})
    tree.accounts["c"].use([2000, 5, 1], is_preemptible=False)
    tree.accounts["c"].use([500, 5, 1], is_preemptible=True)
    assert [account.used for account in tree.accounts["c"].line()] == [[2500, 0, 0]] * 3
    assert [account.unpreemptible_used for account in tree.accounts["c"].line()] == [[2000, 0, 0]] * 3
    tree.accounts["c"].use([2000, 5, 1], is_preemptible=False, sign=-1)
    tree.accounts["c"].use([500, 5, 1], is_preemptible=True, sign=-1)
    assert [account.used for account in tree.accounts["c"].line()] == [[0, 0, 0]] * 3
    assert [account.unpreemptible_used for account in tree.accounts["c"].line()] == [[0, 0, 0]] * 3


def test_faults_of_ancestors_are_reported_below() -> None:
    """A missing parent, one that is none, and a circle; sound quotas have no fault."""
    quotas = [
        cores("sound", 0, 1, is_parent=True),
        cores("below", 0, 1, parent="sound"),
        cores("orphan", 0, 1, parent="gone", is_parent=True),
        cores("child", 0, 1, parent="orphan"),
        cores("leaf", 0, 1),
        cores("stray", 0, 1, parent="leaf"),
        cores("x", 0, 1, parent="y", is_parent=True),
        cores("y", 0, 1, parent="x", is_parent=True),
        cores(DEFAULT_QUOTA, 0, 1, parent="gone"),
    ]
    faults = faults_of({each.name: each for each in quotas})
    assert faults == {
        "orphan": "there is no quota gone above orphan",
        "child": "there is no quota gone above orphan",
        "stray": "quota leaf above stray is not marked as a parent",
        "x": "quotas x, y are ancestors of each other",
        "y": "quotas x, y are ancestors of each other",
    }


def gpu_pool(**more: Any) -> list[ParsedQuota]:
    """A team of the whole cluster, and a tree of 40 CPUs with two teams that are guaranteed 30 each."""
    return [
        cores("everybody", 0, 1000),
        top("pool", "gpus", '{"cpu": "40"}', **more),
        *(cores(name, 30, 1000, parent="pool", tree="gpus") for name in "ab"),
    ]


@pytest.mark.parametrize(("labels", "left"), [({}, 60), ({IGNORE_DEFAULT_TREE: "true"}, 100)])
def test_a_tree_divides_its_own_part_of_the_nodes(labels: Mapping[str, str], left: int) -> None:
    """Guarantees of the tree are cut to its 40 CPUs; the default tree has the rest of 100, or all where so marked."""
    wants = {name: [1_000_000, 0, 0] for name in ("everybody", "a", "b")}
    tree = settled({"cpu": 100}, gpu_pool(labels=labels), wants)
    assert [tree.accounts[name].guaranteed[CPU] for name in "ab"] == [20_000, 20_000]
    assert [tree.accounts[name].runtime[CPU] for name in ("everybody", "pool", "a", "b")] == [left * 1000, 40_000] + [
        20_000
    ] * 2


def test_a_tree_lends_nothing_to_another() -> None:
    """What the pool does not ask for stays with it, and what the default tree does not ask for, with that."""
    tree = settled({"cpu": 100}, gpu_pool(), {"everybody": [90_000, 0, 0]})
    assert [tree.accounts[name].runtime[CPU] for name in ("everybody", "pool", "a")] == [60_000, 0, 0]
    tree = settled({"cpu": 100}, gpu_pool(), {"a": [90_000, 0, 0]})
    assert [tree.accounts[name].runtime[CPU] for name in ("everybody", "pool", "a")] == [0, 40_000, 40_000]


def test_a_quota_may_stand_beside_the_root_of_its_tree() -> None:
    """Both are at the top, and share what the tree has."""
    quotas = [top("pool", "gpus", '{"cpu": "40"}'), cores("free", 0, 1000, tree="gpus")]
    tree = settled({"cpu": 100}, quotas, {name: [1_000_000, 0, 0] for name in ("pool", "free")})
    assert [tree.accounts[name].runtime[CPU] for name in ("pool", "free")] == [20_000, 20_000]


def test_faults_of_a_tree_are_reported_on_its_quotas() -> None:
    """No quota has its amounts, it has two roots, or a quota is below one of another tree."""
    quotas = [
        top("pool", "gpus", '{"cpu": "40"}'),
        top("pool-2", "gpus", '{"cpu": "50"}'),
        cores("a", 0, 1, parent="pool-2", tree="gpus"),
        cores("lost", 0, 1, tree="tpus"),
        cores("plain", 0, 1, is_parent=True),
        cores("below", 0, 1, parent="plain", tree="gpus"),
    ]
    faults = faults_of({each.name: each for each in quotas})
    QuotaTree(SPACE, [each for each in quotas if each.name not in faults], {})
    assert faults == {
        "a": "quota pool-2 above a is broken: tree gpus has a root, pool",
        "pool-2": "tree gpus has a root, pool",
        "lost": "no valid quota marked as root lists the resources of tree tpus has",
        "below": "quota plain above below is of the default tree, not of tree gpus",
    }


def test_a_quota_without_a_tree_is_of_that_of_the_quota_above_it() -> None:
    """Through several levels; a circle of such quotas is still a fault."""
    quotas = [
        top("pool", "gpus", '{"cpu": "40"}'),
        cores("team", 0, 1000, parent="pool", is_parent=True),
        cores("person", 0, 1000, parent="team"),
        cores("left", 0, 1, parent="right", is_parent=True),
        cores("right", 0, 1, parent="left", is_parent=True),
    ]
    faults = faults_of({each.name: each for each in quotas})
    tree = settled({"cpu": 100}, quotas[:3], {"person": [1_000_000, 0, 0]})

    assert sorted(faults) == ["left", "right"]
    assert [tree.accounts[name].runtime[CPU] for name in ("pool", "team", "person")] == [40_000] * 3


@pytest.mark.parametrize(
    ("name", "parent", "fault"),
    [
        ("pool", "gone", "the root of tree gpus is below gone, not at the top"),
        (ROOT_QUOTA, "", "no valid quota marked as root lists the resources of tree gpus has"),
        (DEFAULT_QUOTA, "", None),
    ],
)
def test_a_root_that_cannot_be_one_leaves_its_tree_out_of_service(name: str, parent: str, fault: str | None) -> None:
    """And all others in service."""
    quotas = [top(name, "gpus", '{"cpu": "40"}', parent=parent), cores("a", 0, 1, tree="gpus"), cores("b", 0, 1)]
    faults = faults_of({each.name: each for each in quotas})
    lost = "no valid quota marked as root lists the resources of tree gpus has"
    assert faults == {"a": lost} | ({} if fault is None else {name: fault})
    sound = [each for each in quotas if each.name not in faults]
    assert settled({"cpu": 1}, sound, {"b": [1000, 0, 0]}).accounts["b"].runtime[CPU] == 1000


@pytest.mark.parametrize("text", ["", "nonsense", '{"cpu": "-1"}', '{"cpu": "x"}', '["cpu"]'])
def test_a_root_that_does_not_say_what_its_tree_has_is_out_of_service(text: str) -> None:
    """With all quotas of the tree; the object is reported."""
    faults: list[ObjectError] = []
    labels = {IS_ROOT: "true", IS_PARENT: "true"}
    root = cores("pool", 0, 7, tree="gpus", labels=labels, annotations={TOTAL_RESOURCE: text}, report=faults.append)
    assert {fault.path.partition(".cpu")[0] for fault in faults} == {f"metadata.annotations.{TOTAL_RESOURCE}"}
    assert root.tree_total is None
    below = cores("a", 0, 1, parent="pool", tree="gpus")
    assert faults_of({"pool": root, "a": below}).keys() == {"pool", "a"}


@pytest.mark.parametrize("has_top", [True, False])
def test_a_chain_of_quotas_may_be_long(*, has_top: bool) -> None:
    """A user who may create quotas must not break those of others; the last has the fault of the first."""
    length = 3000
    chain = [
        quota(f"q{at:04}", least={}, most={"cpu": 1}, parent=f"q{at - 1:04}" if at else "", is_parent=True)
        for at in range(length)
    ]
    there = {each.name: each for each in chain[0 if has_top else 1 :]}
    faults = faults_of(there)
    assert faults == ({} if has_top else dict.fromkeys(there, "there is no quota q0000 above q0001"))
    if has_top:
        tree = QuotaTree(SPACE, there.values(), {})
        tree.accounts[f"q{length - 1:04}"].ask([700, 0, 0], is_preemptible=True)
        tree.settle([1000, 0, 0])
        assert tree.accounts[f"q{length - 1:04}"].runtime[CPU] == 700


def test_no_pod_uses_the_root() -> None:
    """It is the cluster: pods that name it, or are where its object is, have no quota."""
    root = cores(ROOT_QUOTA, 0, 1, annotations={NAMESPACES: '["ml"]'})
    belonging = Belonging([root])
    assert belonging.quota_of(ROOT_QUOTA, "x") == DEFAULT_QUOTA
    assert belonging.quota_of("", "ml") == DEFAULT_QUOTA
