"""Queues: defaults, amounts, paths, the tree, deletion."""

import jsonpatch
import pytest

from pyroclast.controllers.admission.lookups import QueuesByName
from pyroclast.controllers.admission.rules.queues import QueueLimits, defaulted, deletion_faults, faults_of
from pyroclast.model.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from tests.unit.controllers.admission.objects import Json, fields_of, queue, queue_json


def path(names: str, weights: str) -> Json:
    """Annotations of a path."""
    return {HIERARCHY: names, HIERARCHY_WEIGHTS: weights}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (queue_json(), queue_json(reclaimable=True, weight=1)),
        (queue_json(weight=0, reclaimable=False), queue_json(weight=1, reclaimable=False)),
        (
            queue_json(annotations=path("a/b", "1/2"), weight=2, reclaimable=True),
            queue_json(annotations=path("root/a/b", "1/1/2"), weight=2, reclaimable=True),
        ),
        (
            queue_json(annotations=path("root/a", "1/2"), weight=2, reclaimable=True),
            queue_json(annotations=path("root/a", "1/2"), weight=2, reclaimable=True),
        ),
        (
            queue_json(annotations={HIERARCHY: "a"}, weight=2, reclaimable=True),
            queue_json(annotations={HIERARCHY: "a"}, weight=2, reclaimable=True),
        ),
        ({"metadata": {"name": "q"}}, {"metadata": {"name": "q"}, "spec": {"reclaimable": True, "weight": 1}}),
        ({"metadata": "x", "spec": "x"}, {"metadata": "x", "spec": "x"}),
    ],
)
def test_defaults(given: Json, expected: Json) -> None:
    """Reclaimable, weight, and paths from the root."""
    assert jsonpatch.apply_patch(given, defaulted(given)) == expected


@pytest.mark.parametrize(
    ("value", "field", "words"),
    [
        (
            queue_json(guarantee={"resource": {"cpu": "4"}}),
            "spec.deserved.cpu",
            "deserved[cpu] must be >= guarantee[cpu]=4",
        ),
        (
            queue_json(guarantee={"resource": {"cpu": "4"}}, deserved={"cpu": "3500m"}),
            "spec.deserved.cpu",
            'deserved[cpu]=3500m must be >= guarantee[cpu]=4 (got "3500m", expected at least 4)',
        ),
        (
            queue_json(guarantee={"resource": {"cpu": "4"}}, deserved={"cpu": "4"}, capability={"cpu": "3"}),
            "spec.deserved.cpu",
            'deserved[cpu]=4 must be <= capability[cpu]=3 (got "4", expected at most 3)',
        ),
        (queue_json(capability={"cpu": "-1"}), "spec.capability.cpu", "must be greater than or equal to 0"),
        (queue_json(capability={"cpu": "many"}), "spec.capability.cpu", "no quantity"),
        (queue_json(deserved={"nvidia.com/gpu": "1500m"}), "spec.deserved.nvidia.com/gpu", "must be an integer"),
        (queue_json(status={"state": "Closing"}), "status.state", "queue state must be in [Open Closed]"),
        (
            queue_json(annotations=path("root/a", "1")),
            f"metadata.annotations[{HIERARCHY}]",
            "must have the same length with volcano.sh/hierarchy-weights",
        ),
        (
            queue_json(annotations=path("root/a", "1/0")),
            f"metadata.annotations[{HIERARCHY_WEIGHTS}]",
            "0 in the 1/0 must be larger than 0",
        ),
        (
            queue_json(annotations=path("root/a", "1/x")),
            f"metadata.annotations[{HIERARCHY_WEIGHTS}]",
            "x in the 1/x is invalid number",
        ),
        (
            queue_json(annotations=path("root/a", "1/nan")),
            f"metadata.annotations[{HIERARCHY_WEIGHTS}]",
            "nan in the 1/nan is invalid number",
        ),
        (queue_json(weight="heavy"), "spec.weight", "expected `int`, got `str`"),
    ],
)
def test_a_queue_alone(value: Json, field: str, words: str) -> None:
    """What is wrong without a look at others."""
    (fault,) = faults_of(value)

    assert fault.field == field
    assert words in str(fault)


def test_equal_amounts_are_right() -> None:
    """Guarantee, deserved and capability may be the same, however they are written."""
    value = queue_json(guarantee={"resource": {"cpu": "4"}}, deserved={"cpu": "4000m"}, capability={"cpu": 4})

    assert faults_of(value) == ()


def test_a_path_may_not_be_part_of_another() -> None:
    """Queues stand at leaves of the tree."""
    longer = queue("dev")
    other = type(longer)(
        metadata=type(longer.metadata)(name="dev", annotations=path("root/sci/dev", "1/1/1")), spec=longer.spec
    )
    lookups = QueuesByName([other])

    (fault,) = faults_of(queue_json(annotations=path("root/sci", "1/1")), lookups=lookups)
    assert "root/sci is not allowed to be in the sub path of root/sci/dev of queue dev" in fault.rule
    assert faults_of(queue_json(annotations=path("root/scidev", "1/1")), lookups=lookups) == ()


TREE = QueuesByName(
    [
        queue("root"),
        queue("a", "root", capability={"cpu": "10"}, deserved={"cpu": "8"}, guarantee={"resource": {"cpu": "4"}}),
        queue("b", "a", deserved={"cpu": "5"}, guarantee={"resource": {"cpu": "1"}}),
        queue("c", "b", capability={"cpu": "6"}),
        queue("d", "c"),
        queue("e", "d"),
        queue("busy", "root", pods="3"),
    ]
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (queue_json("x", parent="x"), "queue x cannot use itself as parent"),
        (queue_json("x", parent="gone"), "failed to get parent queue gone of queue x"),
        (queue_json("x", parent="e"), "queue x exceeds the maximum allowed depth of 5"),
        (queue_json("x", parent="busy"), "because it has allocated Pods: 3"),
        (queue_json("x", parent="a", capability={"cpu": "11"}), "exceeds its ancestor's capability=10"),
        (queue_json("x", parent="b", capability={"cpu": "11"}), "exceeds its ancestor's capability=10"),
        (
            queue_json("x", parent="a", deserved={"cpu": "4"}),
            "parent queue a validation failed: sum of children's deserved (cpu 9) exceeds parent's deserved limit",
        ),
        (
            queue_json("x", parent="a", deserved={"cpu": "3"}, guarantee={"resource": {"cpu": "3500m"}}),
            "sum of children's guarantee (cpu 4500m) exceeds parent's guarantee limit (cpu 4)",
        ),
    ],
)
def test_a_new_queue_in_the_tree(value: Json, words: str) -> None:
    """What is wrong with its place."""
    assert any(words in str(fault) for fault in faults_of(value, lookups=TREE))


@pytest.mark.parametrize(
    "value",
    [
        queue_json("x", parent="d"),
        queue_json("x", parent="root", capability={"cpu": "1000"}, deserved={"cpu": "1000"}),
        queue_json("x", parent="a", capability={"cpu": "10"}, deserved={"cpu": "3"}),
        queue_json("x"),
    ],
)
def test_what_fits_is_taken(value: Json) -> None:
    """Five deep is deep enough; nothing is compared with the root."""
    assert faults_of(value, lookups=TREE) == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"capability": {"cpu": "5"}, "deserved": {"cpu": "5"}},
            "capability[cpu]=5 is smaller than its descendants' max capability=6",
        ),
        ({"capability": {"cpu": "6"}, "deserved": {"cpu": "6"}}, None),
        ({"deserved": {"cpu": "4500m"}}, "queue a validation failed: sum of children's deserved (cpu 5)"),
        ({"deserved": {"cpu": "5"}}, None),
        ({"parent": "c"}, "queue a cannot be below itself"),
        ({"weight": 3}, None),
    ],
)
def test_a_changed_queue_in_the_tree(changes: Json, words: str | None) -> None:
    """What is wrong with the change of an inner queue."""
    amounts = {"capability": {"cpu": "10"}, "deserved": {"cpu": "8"}, "guarantee": {"resource": {"cpu": "4"}}}
    old: Json = {"parent": "root", **amounts}

    faults = faults_of(queue_json("a", **{**old, **changes}), queue_json("a", **old), TREE)

    assert [(words or "") in str(fault) for fault in faults] == ([True] if words else [])


def test_the_root_keeps_its_amounts() -> None:
    """Another spelling is no change; the operator may switch the rule off."""
    old, new = queue_json("root", deserved={"cpu": "4"}), queue_json("root", deserved={"cpu": "5"})

    (fault,) = faults_of(new, old, TREE)
    assert fault.field == "spec.deserved"
    assert "root queue's resource attributes (capability, deserved, guarantee) cannot be modified" in fault.rule
    assert faults_of(queue_json("root", deserved={"cpu": "4000m"}, weight=2), old, TREE) == ()
    assert faults_of(new, old, TREE, QueueLimits(protects_root=False)) == ()


def test_the_depth_is_the_operators_choice() -> None:
    """Six deep goes with a limit of six."""
    assert faults_of(queue_json("x", parent="e"), lookups=TREE, limits=QueueLimits(max_depth=6)) == ()


def test_labels_of_a_broken_queue_may_change() -> None:
    """What was stored before a rule came can still be labelled, and lose its finalizers."""
    broken = queue_json("x", parent="gone", capability={"cpu": "-1"}, status={"state": "Closing"})

    assert faults_of({**broken, "metadata": {"name": "x", "labels": {"a": "b"}}}, broken, TREE) == ()


def test_a_closing_queue_may_be_changed() -> None:
    """Its state is not the user's doing."""
    old, new = (queue_json("x", weight=weight, status={"state": "Closing"}) for weight in (1, 2))

    assert faults_of(new, old, TREE) == ()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("default", "`default` queue can not be deleted"),
        ("root", "`root` queue can not be deleted"),
        ("a", "queue a can not be deleted because it has 1 child queues: b"),
        ("e", None),
        ("busy", None),
        ("gone", None),
    ],
)
def test_deletion(name: str, words: str | None) -> None:
    """Queues that others stand on stay."""
    assert [fault.rule for fault in deletion_faults(name, TREE)] == ([words] if words else [])


def test_queues_in_use_cannot_be_deleted_if_configured() -> None:
    """Off by default."""
    (fault,) = deletion_faults("busy", TREE, QueueLimits(keeps_queues_in_use=True))

    assert fault.rule == "queue busy cannot be deleted because it has allocated Pods: 3"


def test_a_circle_of_stored_queues_ends() -> None:
    """Queues that stand in a circle already do not keep the rules from an answer."""
    circle = QueuesByName([queue("m", "n", capability={"cpu": "1"}), queue("n", "m")])

    faults = faults_of(queue_json("n", parent="m", capability={"cpu": "2"}), queue_json("n", parent="m"), circle)

    assert fields_of(faults) == ["spec.capability.cpu"]
