"""ElasticQuotas: what is refused, all of it at once, with its path."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from pyroclast.controllers.admission.handlers import SERVICES, AdmissionPolicy, KnownCluster, review_object
from pyroclast.controllers.admission.reviews import AdmissionVerdict, Review, ReviewedResource
from pyroclast.controllers.admission.rules import elastic_quotas
from pyroclast.model import wire
from pyroclast.model.elastic.names import (
    ALLOW_FORCE_UPDATE,
    GUARANTEED,
    IS_PARENT,
    MAX_STRICT_CHECK,
    NAMESPACES,
    PARENT,
    ROOT_QUOTA,
    SHARED_WEIGHT,
    TREE_ID,
)
from tests.elastic_quotas import elastic_quota


def asked(operation: str, quotas: Sequence[Any] | None, **question: Any) -> AdmissionVerdict:
    """Answer a question about a quota, where others are known."""
    service = SERVICES["/elasticquotas/validate"]
    resource = ReviewedResource(group=service.group, resource=service.resource)
    known = KnownCluster(quotas=None if quotas is None else msgspec.convert(quotas, list[wire.ElasticQuota]))
    return review_object(
        service, Review(uid="u", operation=operation, resource=resource, **question), AdmissionPolicy(), known
    )


def told(quota: Any, old: Any = None, *, beside: Sequence[Any] | None = None) -> list[str]:
    """What is wrong with a new quota, or with a changed one."""
    verdict = asked("CREATE" if old is None else "UPDATE", beside, object=quota, old_object=old)
    return [str(fault) for fault in verdict.faults]


SOUND = elastic_quota(
    "q",
    least={"cpu": 1},
    most={"cpu": "1500m", "example.com/a": 2},
    parent="not-there-yet",
    annotations={SHARED_WEIGHT: '{"cpu": "3"}', NAMESPACES: '["a", "b"]'},
)


def test_a_sound_quota_is_taken() -> None:
    """Also before its parent is there: quotas of one file come in any order."""
    assert told(SOUND) == []


def test_everything_is_reported_at_once() -> None:
    """Amounts, guarantees and annotations."""
    annotations = {SHARED_WEIGHT: '{"cpu": "-1"}', NAMESPACES: "a, b"}
    quota = elastic_quota(
        "q", least={"cpu": 2, "memory": "1Gi"}, most={"cpu": 1, "gpu/x": "many"}, annotations=annotations
    )
    found = told(quota)
    assert found[0] == "spec.max.gpu/x: 'many' is not a quantity"
    assert found[1:3] == [
        "spec.min.cpu: is more than spec.max has of it",
        "spec.min.memory: has no maximum in spec.max",
    ]
    assert found[3] == f"metadata.annotations.{SHARED_WEIGHT}.cpu: is negative: -1"
    assert found[4].startswith(f"metadata.annotations.{NAMESPACES}: ")
    assert len(found) == 5


@pytest.mark.parametrize("spec", [{"max": {"cpu": [1]}}, {"max": "1"}, [], "x", {"min": {"cpu": {"a": 1}}}], ids=str)
def test_what_is_no_quota_is_refused(spec: Any) -> None:
    """With the path of what has the wrong type."""
    (fault,) = told({**SOUND, "spec": spec})
    assert fault.startswith("spec")


def test_a_change_of_anything_but_the_spec_is_taken() -> None:
    """Objects stored before the rule must still accept labels and a status."""
    broken = elastic_quota("q", least={"cpu": 2}, most={"cpu": 1})
    labelled = {**broken, "metadata": {**broken["metadata"], "labels": {"a": "b"}}}
    assert told(labelled, broken) == []
    assert told(elastic_quota("q", least={"cpu": 3}, most={"cpu": 1}), broken) != []


ORG = elastic_quota("org", least={"cpu": 10}, most={"cpu": 20, "memory": "1Gi"}, is_parent=True)
TEAM = elastic_quota("team", least={"cpu": 6}, most={"cpu": 9}, parent="org", annotations={NAMESPACES: '["ml"]'})
BESIDE = [ORG, TEAM]


def labelled(quota: dict[str, Any], **labels: str) -> dict[str, Any]:
    """A quota with other labels; the keys are those of the wire without their prefix."""
    own = {f"quota.scheduling.koordinator.sh/{key.replace('_', '-')}": value for key, value in labels.items()}
    return {**quota, "metadata": {**quota["metadata"], "labels": {**quota["metadata"]["labels"], **own}}}


@pytest.mark.parametrize(
    ("quota", "faults"),
    [
        pytest.param(elastic_quota("new", least={"cpu": 4}, most={"cpu": 9}, parent="org"), [], id="fits"),
        pytest.param(
            elastic_quota("new", least={"cpu": 5}, most={"cpu": 9}, parent="org"),
            ["spec.min.cpu: it and its siblings below org are guaranteed 11 together, more than the 10 of org"],
            id="guarantees beyond the parent",
        ),
        pytest.param(
            labelled(elastic_quota("new", least={"cpu": 5}, most={"cpu": 9}, parent="org"), allow_force_update="true"),
            [],
            id="guarantees beyond the parent, and meant so",
        ),
        pytest.param(
            elastic_quota("new", most={"example.com/a": 1}, parent="org"),
            ["spec.max: quota org above it has no maximum of them: example.com/a"],
            id="a resource that the parent does not have",
        ),
        pytest.param(
            elastic_quota("new", parent="team"),
            [f"metadata.labels.{PARENT}: this quota is not marked as a parent (got 'team')"],
            id="a parent that is none",
        ),
        pytest.param(
            elastic_quota("new", parent="org", tree="gpus"),
            [f"metadata.labels.{TREE_ID}: org has another tree (got 'gpus', expected none)"],
            id="a parent of another tree",
        ),
        pytest.param(
            elastic_quota("team", namespace="elsewhere"),
            ["metadata.name: names of quotas are unique in the cluster; quotas has one of this name (got 'team')"],
            id="a name that is taken",
        ),
        pytest.param(
            elastic_quota("new", annotations={NAMESPACES: '["ml", "x"]'}),
            [f"metadata.annotations.{NAMESPACES}: quota team lists them already: ml"],
            id="a namespace that is taken",
        ),
        pytest.param(elastic_quota("new", parent="later"), [], id="a parent that is not there yet"),
    ],
)
def test_a_quota_is_judged_beside_others(quota: Any, faults: list[str]) -> None:
    """With field, value and limit."""
    assert told(quota, beside=BESIDE) == [fault.replace("'", '"') for fault in faults]


@pytest.mark.parametrize(
    ("changed", "faults"),
    [
        pytest.param(
            elastic_quota("org", least={"cpu": 5}, most={"cpu": 20}, is_parent=True),
            ["spec.min.cpu: quotas below it are guaranteed 6 together, more than the 5 of org"],
            id="a guarantee that is less than those below",
        ),
        pytest.param(
            elastic_quota("org", least={"cpu": 10}, most={"cpu": 20}),
            [f"metadata.labels.{IS_PARENT}: quotas stand below it: team (expected true)"],
            id="no parent any more",
        ),
        pytest.param(
            elastic_quota("org", least={"memory": 1}, most={"memory": "1Gi"}, is_parent=True),
            [
                "spec.min.cpu: quotas below it are guaranteed 6 together, more than the 0 of org",
                "spec.max: quota team below it names more: cpu",
            ],
            id="a resource that those below have",
        ),
        pytest.param(
            labelled(ORG, tree_id="x"),
            [
                f"metadata.labels.{TREE_ID}: the tree of a quota stays (got 'x', expected none)",
            ],
            id="another tree, which a quota below without one inherits",
        ),
        pytest.param(labelled(ORG, more="x"), [], id="a label that says nothing"),
    ],
)
def test_a_change_is_judged_beside_others(changed: Any, faults: list[str]) -> None:
    """The quota itself, as it was, is none of them."""
    assert told(changed, ORG, beside=BESIDE) == [fault.replace("'", '"') for fault in faults]


FULL = [
    elastic_quota("old", least={"cpu": 4}, most={"cpu": 9, "example.com/a": 1}, is_parent=True),
    elastic_quota("a", least={"cpu": 3}, most={"cpu": 9, "example.com/b": 1}, parent="old"),
    elastic_quota("b", least={"cpu": 3}, most={"cpu": 9}, parent="old", annotations={NAMESPACES: '["x"]'}),
    elastic_quota("b", namespace="elsewhere", annotations={NAMESPACES: '["x"]'}),
    elastic_quota("c", parent="b", tree="t"),
]
"""The value before it was validated."""


def changed(number: int, **spec: Any) -> dict[str, Any]:
    """One of these with other amounts."""
    return {**FULL[number], "spec": {**FULL[number]["spec"], **spec}}


@pytest.mark.parametrize(
    ("number", "now", "faults"),
    [
        pytest.param(0, changed(0, min={"cpu": 5}), [], id="more for those below, yet not enough"),
        pytest.param(1, changed(1, min={"cpu": 2}), [], id="less than was too much"),
        pytest.param(2, changed(2, max={"cpu": 10}), [], id="another maximum"),
        pytest.param(2, labelled(FULL[2], is_parent="true"), [], id="what was missing"),
        pytest.param(
            1,
            changed(1, min={"cpu": "3500m"}),
            ["spec.min.cpu: it and its siblings below old are guaranteed 6500m together, more than the 4 of old"],
            id="more of what was too much",
        ),
        pytest.param(
            2,
            changed(2, max={"cpu": 9, "example.com/c": 1}),
            ["spec.max: quota old above it has no maximum of them: example.com/c"],
            id="a name of one's own",
        ),
        pytest.param(
            2,
            {**FULL[2], "metadata": {**FULL[2]["metadata"], "annotations": {NAMESPACES: '["x", "y"'}}},
            ["metadata.annotations.quota.scheduling.koordinator.sh/namespaces: Input data was truncated"],
            id="namespaces that cannot be read",
        ),
    ],
)
def test_only_what_is_changed_is_judged(number: int, now: Any, faults: list[str]) -> None:
    """Earlier faults refuse no change, least of all one for the better."""
    assert told(now, FULL[number], beside=FULL) == faults


def test_an_invalid_old_weight_does_not_block_a_new_guarantee() -> None:
    """It counts as absent, as it did."""
    quota = elastic_quota("q", most={"cpu": 2}, annotations={SHARED_WEIGHT: "x"})
    assert told({**quota, "spec": {"min": {"cpu": 1}, "max": {"cpu": 2}}}, quota, beside=[]) == []


def test_a_namesake_goes_whatever_stands_below_the_name() -> None:
    """One of the name stays."""
    namesake = {**ORG, "metadata": {**ORG["metadata"], "namespace": "elsewhere"}}
    for namespace in ("quotas", "elsewhere"):
        assert asked("DELETE", [*BESIDE, namesake], namespace=namespace, name="org") == AdmissionVerdict()


def test_a_collection_goes_whole() -> None:
    """The server asks about each of a collection without its name; else a namespace that has a parent would stay."""
    assert asked("DELETE", BESIDE, namespace="quotas", old_object=ORG) == AdmissionVerdict()


def test_a_quota_goes_when_none_stand_below_it() -> None:
    """Any queue; if others cannot be read it is deleted, with a warning that they were not checked."""

    def deleting(name: str, quotas: Sequence[Any] | None) -> AdmissionVerdict:
        return asked("DELETE", quotas, namespace="quotas", name=name)

    (fault,) = deleting("org", BESIDE).faults
    assert str(fault) == 'metadata.name: quotas stand below it: team (got "org")'
    assert deleting("team", BESIDE) == AdmissionVerdict()
    blind = deleting("org", None)
    assert (blind.faults, len(blind.warnings)) == ((), 1)


def test_force_is_a_label() -> None:
    """The one that Koordinator's users know."""
    assert ALLOW_FORCE_UPDATE == "quota.scheduling.koordinator.sh/allow-force-update"


# Defaults -------------------------------------------------------------------------------------------------------------


def completed(quota: dict[str, Any], beside: Sequence[Any] | None = ()) -> dict[str, Any]:
    """A new quota with its defaults, patched as the API server does it."""
    service = SERVICES["/elasticquotas/mutate"]
    resource = ReviewedResource(group=service.group, resource=service.resource)
    known = KnownCluster(quotas=None if beside is None else msgspec.convert(beside, list[wire.ElasticQuota]))
    review = Review(uid="u", operation="CREATE", resource=resource, object=quota)
    patched: dict[str, Any] = json.loads(json.dumps(quota))
    for patch in review_object(service, review, AdmissionPolicy(), known).patches:
        *steps, last = [step.replace("~1", "/").replace("~0", "~") for step in patch["path"].split("/")[1:]]
        inside = patched
        for step in steps:
            inside = inside[step]
        inside[last] = patch["value"]
    return patched


def bare(**spec: Any) -> dict[str, Any]:
    """A quota without labels and annotations."""
    return {"metadata": {"name": "q", "namespace": "quotas"}, "spec": spec}


POOL = elastic_quota("pool", most={"cpu": 8}, is_parent=True, tree="gpus", total={"cpu": 8})
MIDDLE = elastic_quota("middle", most={"cpu": 8}, is_parent=True, parent="pool")


def test_a_new_quota_gets_parent_and_weights() -> None:
    """The root, and its maximum."""
    metadata = completed(bare(max={"cpu": 4, "memory": "1Gi"}))["metadata"]
    assert metadata["labels"] == {PARENT: ROOT_QUOTA}
    assert json.loads(metadata["annotations"][SHARED_WEIGHT]) == {"cpu": 4, "memory": "1Gi"}


def test_weights_get_the_resources_of_the_maximum() -> None:
    """Missing ones are added, others are removed; what cannot be read stays for validation."""
    for text, expected in (
        ('{"cpu": "40", "gpu": "1"}', {"cpu": "40", "memory": "1Gi"}),
        ('{"memory": 0, "cpu": "1"}', {"cpu": "1", "memory": 0}),
        ("[]", []),
    ):
        quota = elastic_quota("q", most={"cpu": 4, "memory": "1Gi"}, annotations={SHARED_WEIGHT: text})
        assert json.loads(completed(quota)["metadata"]["annotations"][SHARED_WEIGHT]) == expected


@pytest.mark.parametrize("parent", ["pool", "middle"])
def test_a_new_quota_gets_the_tree_of_its_parent(parent: str) -> None:
    """Also of one above that, and not where it has one of its own, which validation refuses."""
    quota = elastic_quota("q", most={"cpu": 4}, parent=parent)
    assert completed(quota, [POOL, MIDDLE])["metadata"]["labels"][TREE_ID] == "gpus"
    own = elastic_quota("q", most={"cpu": 4}, parent=parent, tree="mine")
    assert completed(own, [POOL, MIDDLE])["metadata"]["labels"][TREE_ID] == "mine"
    assert told(own, beside=[POOL, MIDDLE]) == [
        f'metadata.labels.{TREE_ID}: {parent} has another tree (got "mine", expected gpus)'
    ]


@pytest.mark.parametrize("beside", [None, [], [elastic_quota("pool", most={"cpu": 8}, is_parent=True)]])
def test_a_quota_without_a_known_tree_gets_none(beside: Sequence[Any] | None) -> None:
    """The scheduler reads the tree of the parent, whenever that comes."""
    quota = elastic_quota("q", most={"cpu": 4}, parent="pool")
    assert TREE_ID not in completed(quota, beside)["metadata"]["labels"]


def test_the_root_is_not_completed_and_circles_end() -> None:
    """It has no parent; quotas above each other have no tree."""
    root = {**bare(), "metadata": {"name": ROOT_QUOTA, "namespace": "quotas"}}
    assert completed(root) == root
    circle = [elastic_quota(name, parent=other) for name, other in (("a", "b"), ("b", "a"))]
    assert TREE_ID not in completed(circle[0], circle)["metadata"]["labels"]


@pytest.mark.parametrize(
    "value", [{"metadata": 1}, {"metadata": {"labels": []}}, {"metadata": {"annotations": {"a": 1}}}]
)
def test_a_quota_of_a_wrong_shape_is_left_to_validation(value: Any) -> None:
    """No patch, and no error."""
    assert completed(value) == value


def test_a_tree_is_inherited_at_validation_too() -> None:
    """A quota that was made while no webhook answered stands below one of a tree, and may get the label later."""
    child = elastic_quota("q", most={"cpu": 4}, parent="middle")
    assert told(child, beside=[POOL, MIDDLE]) == []
    assert told(labelled(child, tree_id="gpus"), child, beside=[POOL, MIDDLE, child]) == []
    assert told(labelled(child, tree_id="other"), child, beside=[POOL, MIDDLE, child]) != []
    outside = labelled(child, parent=ROOT_QUOTA)
    assert told(outside, child, beside=[POOL, MIDDLE, child]) == [
        f'metadata.labels.{TREE_ID}: the tree of a quota stays (got "", expected gpus)'
    ]


def test_a_strict_maximum_stays_above_the_use() -> None:
    """For the listed resources alone, where the maximum changes."""
    strict = {MAX_STRICT_CHECK: '["cpu", "memory"]'}
    old = elastic_quota("q", most={"cpu": 8, "gpu": 4}, annotations=strict) | {
        "status": {"used": {"cpu": "6", "gpu": "3"}}
    }
    for most, faults in (
        ({"cpu": 6, "gpu": 1}, []),
        ({"cpu": 5}, ["spec.max.cpu: its pods use 6, more than the strict maximum: 5"]),
        ({"gpu": 4}, ["spec.max.cpu: its pods use 6, more than the strict maximum: no amount"]),
    ):
        assert told({**old, "spec": {"max": most}}, old) == faults
    unreadable = elastic_quota("q", most={"cpu": 8}, annotations={MAX_STRICT_CHECK: "cpu"})
    (fault,) = told(unreadable)
    assert fault.startswith(f"metadata.annotations.{MAX_STRICT_CHECK}: ")


def in_tree(name: str, least: int, guaranteed: int, parent: str = "", *, is_root: bool = False, **labels: str) -> Any:
    """Return a parent of tree `t` with what it is guaranteed."""
    notes = {GUARANTEED: json.dumps({"cpu": str(guaranteed)})}
    total: dict[str, Any] = {"total": {"cpu": 10}} if is_root else {}
    made = elastic_quota(
        name,
        least={"cpu": least},
        most={"cpu": 99},
        parent=parent,
        tree="t",
        is_parent=True,
        annotations=notes,
        **total,
    )
    return labelled(made, **labels)


def uncovered(quota: Any, *beside: Any, old: Any = None) -> list[str]:
    """Return the faults of a quota with guarantees by use."""
    faults = elastic_quotas.faults_of(
        quota, old, msgspec.convert([*beside, *([old] if old else [])], list[wire.ElasticQuota]), guarantees_use=True
    )
    return [str(fault) for fault in faults]


def test_guarantees_by_use_are_covered_by_a_quota_above() -> None:
    """The root is guaranteed 10, and the middle 4, of which the sibling uses 3 beyond its minimum of 1."""
    root, middle = in_tree("root", 10, 10, is_root=True), in_tree("middle", 4, 4, "root")
    sibling = in_tree("sibling", 1, 3, "middle")

    assert uncovered(in_tree("new", 1, 0, "middle"), root, middle, sibling) == []
    assert uncovered(in_tree("new", 3, 0, "middle"), root, middle, sibling) == []
    small = in_tree("root", 4, 5, is_root=True)
    fault = "spec.min.cpu: root, the root of its tree, must be guaranteed 6 for it, and is not"
    assert uncovered(in_tree("new", 3, 0, "middle"), small, middle, sibling) == [fault]
    assert uncovered(in_tree("new", 3, 3, "middle"), small, middle, sibling) == []
    assert uncovered(in_tree("new", 3, 0, "middle", allow_force_update="true"), small, middle, sibling) == []


def test_guarantees_that_do_not_grow_are_not_judged_by_use() -> None:
    """A smaller minimum, a quota of no tree, the root of a tree, and a parent that is missing."""
    small, middle = in_tree("root", 1, 1, is_root=True), in_tree("middle", 1, 1, "root")
    old = in_tree("q", 9, 0, "middle")

    assert uncovered(in_tree("q", 8, 0, "middle"), small, middle, old=old) == []
    assert uncovered(in_tree("root", 9, 0, is_root=True)) == []
    assert uncovered(in_tree("q", 9, 0, "missing"), small) == []
    outside = elastic_quota("q", least={"cpu": 9}, most={"cpu": 9}, parent="org", is_parent=True)
    assert uncovered(outside, elastic_quota("org", least={"cpu": 9}, most={"cpu": 9}, is_parent=True)) == []


def test_guarantees_by_use_need_the_feature_gate() -> None:
    """Without it only minimums count, and quotas above each other end the search."""
    small, middle = in_tree("root", 4, 4, is_root=True), in_tree("middle", 4, 4, "root")
    beside = [small, middle, in_tree("sibling", 1, 3, "middle")]

    assert told(in_tree("new", 3, 0, "middle"), beside=beside) == []
    assert uncovered(in_tree("new", 3, 0, "middle"), *beside) != []
    circle = [in_tree("a", 9, 0, "b"), in_tree("b", 1, 0, "a")]
    assert uncovered(in_tree("new", 1, 0, "a"), *circle) == []


def test_trees_of_a_long_chain_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 300 quotas is below the one before it, and lists namespaces: lookups grow with their number."""
    lookups = [0]

    class Counted(dict[str, wire.ObjectMeta]):
        def get(self, *given: Any) -> Any:
            lookups[0] += 1
            return super().get(*given)

    by_name = elastic_quotas._by_name
    monkeypatch.setattr(elastic_quotas, "_by_name", lambda quotas: Counted(by_name(quotas)))
    chain = [
        elastic_quota(f"q{number}", parent=f"q{number - 1}", annotations={NAMESPACES: "[]"}) for number in range(300)
    ]

    assert told(elastic_quota("q", parent="q299"), beside=chain)
    assert lookups[0] <= 6 * 300
