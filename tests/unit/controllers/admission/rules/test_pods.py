"""Pods: budgets, resource groups, the gate of a queue, the nodes of a tree of quotas."""

import jsonpatch
import msgspec
import pytest

from pyroclast.controllers.admission.resource_groups import read_resource_groups
from pyroclast.controllers.admission.rules.pods import defaulted, faults_of
from pyroclast.model import wire
from pyroclast.model.api.meta import LabelSelector
from pyroclast.model.api.names import MAX_UNAVAILABLE, MIN_AVAILABLE, QUEUE_ALLOCATION_GATE
from pyroclast.model.elastic.names import NAMESPACES, PREEMPTIBLE, QUOTA_NAME
from pyroclast.model.errors import ConfigError
from tests.unit.controllers.admission.objects import Json, container

GROUPS = read_resource_groups("""
resourceGroups:
- resourceGroup: management
  object:
    key: namespace
    value: [mng-ns-1]
  schedulerName: default-scheduler
  tolerations:
  - {effect: NoSchedule, key: taint, operator: Exists}
  labels:
    volcano.sh/nodetype: management
- resourceGroup: cpu
  object:
    key: annotation
    value: ["volcano.sh/resource-group: cpu"]
  schedulerName: volcano
- resourceGroup: gpu
  labels: {volcano.sh/nodetype: gpu}
  affinity: '{"nodeAffinity": {}}'
""")


def pod(annotations: Json | None = None, **spec: object) -> Json:
    """A pod."""
    return {
        "metadata": {"name": "p", "annotations": annotations or {}},
        "spec": {"schedulerName": "volcano", "containers": [container()], **spec},
    }


def completed(value: Json, **options: object) -> Json:
    """The spec of the pod with what it is given."""
    done: Json = jsonpatch.apply_patch(value, defaulted(value, **options))  # type: ignore[arg-type]  # a test's options
    spec: Json = done["spec"]
    return spec


@pytest.mark.parametrize(
    ("value", "is_right"),
    [(each, True) for each in ("1", "3", "1%", "99%")]
    + [(each, False) for each in ("0", "-1", "0%", "100%", "half", "50%%", "", "1.5")],
)
@pytest.mark.parametrize("key", [MIN_AVAILABLE, MAX_UNAVAILABLE])
def test_budgets(key: str, value: str, is_right: bool) -> None:
    """A count of at least one, or 1% to 99%."""
    faults = faults_of(pod({key: value}))

    assert (faults == ()) is is_right
    assert all(f'invalid value <"{value}"> for {key}' in fault.rule for fault in faults)


def test_one_budget_is_enough() -> None:
    """Both together contradict each other."""
    (fault,) = faults_of(pod({MIN_AVAILABLE: "1", MAX_UNAVAILABLE: "1"}))

    assert "not allow configure multiple annotations" in fault.rule


def test_pods_of_others_are_not_judged() -> None:
    """Nor are changes."""
    wrong = pod({MIN_AVAILABLE: "half"})

    assert faults_of(pod({MIN_AVAILABLE: "half"}, schedulerName="default-scheduler")) == ()
    assert faults_of(wrong, scheduler_names=("other",)) == ()
    assert faults_of(wrong, wrong) == ()


def test_a_group_by_namespace() -> None:
    """Scheduler, tolerations and node labels are added to the pod's own."""
    spec = completed(pod(nodeSelector={"a": "b"}, tolerations=[{"key": "own"}]), namespace="mng-ns-1", groups=GROUPS)

    assert spec["schedulerName"] == "default-scheduler"
    assert spec["nodeSelector"] == {"a": "b", "volcano.sh/nodetype": "management"}
    assert [each["key"] for each in spec["tolerations"]] == ["own", "taint"]


def test_a_group_by_annotation() -> None:
    """Without a matcher it is volcano.sh/resource-group with the group's name; an affinity of one's own stays."""
    annotations = {"volcano.sh/resource-group": "gpu"}

    assert completed(pod(annotations), groups=GROUPS)["affinity"] == {"nodeAffinity": {}}
    assert completed(pod(annotations, affinity={"podAffinity": {}}), groups=GROUPS)["affinity"] == {"podAffinity": {}}
    assert "affinity" not in completed(pod({"volcano.sh/resource-group": "cpu"}), groups=GROUPS)


def test_pods_of_no_group_are_left_alone() -> None:
    """Nothing is patched."""
    assert defaulted(pod(), namespace="elsewhere", groups=GROUPS) == []


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        (None, [{"name": QUEUE_ALLOCATION_GATE}]),
        ([{"name": "other"}], [{"name": "other"}, {"name": QUEUE_ALLOCATION_GATE}]),
        ([{"name": QUEUE_ALLOCATION_GATE}], [{"name": QUEUE_ALLOCATION_GATE}]),
    ],
)
def test_the_gate_of_a_queue(gates: list[Json] | None, expected: list[Json]) -> None:
    """It is added once, behind the pod's own, where the pod asks for it and the feature is on."""
    asks = pod({QUEUE_ALLOCATION_GATE: "true"}, **({} if gates is None else {"schedulingGates": gates}))

    assert completed(asks, gates_pods=True)["schedulingGates"] == expected
    assert defaulted(asks) == []
    assert defaulted(pod(), gates_pods=True) == []


def test_pods_of_others_get_no_gate() -> None:
    """Their scheduler does not matter; a resource group sets the scheduler before it is checked."""
    annotations = {QUEUE_ALLOCATION_GATE: "true", "volcano.sh/resource-group": "cpu"}
    others = pod(annotations, schedulerName="default-scheduler")

    assert defaulted(others, gates_pods=True) == []
    assert "schedulingGates" in completed(others, gates_pods=True, groups=GROUPS)
    assert "schedulingGates" in completed(others, gates_pods=True, scheduler_names=("default-scheduler",))
    assert "schedulingGates" not in completed(pod(annotations), gates_pods=True, groups=GROUPS, namespace="mng-ns-1")


@pytest.mark.parametrize("value", [{}, {"spec": 1}, {"metadata": {"annotations": 1}, "spec": {"tolerations": 3}}])
def test_broken_pods_are_left_to_the_server(value: Json) -> None:
    """Nothing breaks here."""
    assert isinstance(defaulted(value, namespace="mng-ns-1", groups=GROUPS, gates_pods=True), list)
    assert faults_of(value) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("resourceGroups: 3", "Expected `array`, got `int`"),
        ("resourceGroups: [{object: {key: label}}]", "resourceGroups[0].object.key: got 'label'"),
        ("resourceGroups: [{affinity: '{'}]", "resourceGroups[0].affinity: got '{'"),
        ("resourceGroups: [{object: {key: annotation, value: ['x']}}]", "resourceGroups[0].object.value[0]: got 'x'"),
        ("[", "not YAML"),
    ],
)
def test_faults_of_the_file(text: str, words: str) -> None:
    """Each is named with its path."""
    with pytest.raises(ConfigError) as caught:
        read_resource_groups(text)

    assert words in str(caught.value)


def test_an_empty_file_has_no_groups() -> None:
    """As a chart ships it."""
    assert read_resource_groups("# nothing\n") == ()


POOL = msgspec.convert(
    {"matchLabels": {"pool": "gpu"}, "matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]}, LabelSelector
)
IN_POOL = [{"key": "pool", "operator": "In", "values": ["gpu"]}, {"key": "old", "operator": "DoesNotExist"}]
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def terms(*terms: Json) -> Json:
    """A node affinity that must be met."""
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        pytest.param(None, terms({"matchExpressions": IN_POOL}), id="none"),
        pytest.param({}, terms({"matchExpressions": IN_POOL}), id="empty"),
        pytest.param(
            {"podAffinity": {}, **terms({"matchExpressions": [ZONE]}, {"matchFields": []})},
            {
                "podAffinity": {},
                **terms({"matchExpressions": [ZONE, *IN_POOL]}, {"matchFields": [], "matchExpressions": IN_POOL}),
            },
            id="each of two ways",
        ),
        pytest.param(terms({"matchExpressions": [*IN_POOL, ZONE]}), None, id="as it should be"),
    ],
)
def test_a_pod_of_a_tree_goes_to_its_nodes(affinity: Json | None, expected: Json | None) -> None:
    """Its own values stay."""
    patches = defaulted(pod(**({} if affinity is None else {"affinity": affinity})), tree_nodes=POOL)
    assert patches == ([] if expected is None else [{"op": "add", "path": "/spec/affinity", "value": expected}])


def test_a_tree_comes_after_the_group() -> None:
    """A group's affinity is narrowed, too; pods of other schedulers are left alone."""
    spec = completed(pod({"volcano.sh/resource-group": "gpu"}), groups=GROUPS, tree_nodes=POOL)
    assert spec["affinity"] == terms({"matchExpressions": IN_POOL})
    assert defaulted(pod(schedulerName="other"), tree_nodes=POOL) == []


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "pool", "operator": "Like", "values": ["gpu"]},
        {"key": "pool", "operator": "In"},
        {"key": "pool", "operator": "NotIn", "values": []},
        {"key": "pool", "operator": "Exists", "values": ["gpu"]},
        {"key": "a b", "operator": "Exists"},
        {"key": "pool", "operator": "In", "values": ["a b"]},
    ],
    ids=str,
)
def test_a_profile_that_makes_no_sense_keeps_no_pod_from_being_made(expression: Json) -> None:
    """The server would refuse each pod of the tree that was given such a term."""
    selector = msgspec.convert({"matchExpressions": [*IN_POOL, expression]}, LabelSelector)
    assert defaulted(pod(), tree_nodes=selector) == []
    labels = msgspec.convert({"matchLabels": {"a b": "c"}}, LabelSelector)
    assert defaulted(pod(), tree_nodes=labels) == []


def test_a_way_that_leads_to_no_node_stays_one() -> None:
    """A term without requirements matches no node; with those of the tree it would match them."""
    affinity = terms({}, {"matchExpressions": [ZONE]})
    (patch,) = defaulted(pod(affinity=affinity), tree_nodes=POOL)
    assert patch["value"] == terms({}, {"matchExpressions": [ZONE, *IN_POOL]})


def test_new_pods_of_ours_name_no_node() -> None:
    """The scheduler chooses the node; pods of other schedulers, and an operator's choice, are left alone."""
    named = pod(nodeName="ghost")

    assert [fault.field for fault in faults_of(named)] == ["spec.nodeName"]
    assert faults_of(named, allows_node_name=True) == ()
    assert faults_of(named, scheduler_names=("night",)) == ()
    assert faults_of(named, pod()) == ()


@pytest.mark.parametrize(("label", "is_right"), [("own", True), ("lists", True), ("other", False), ("absent", False)])
def test_a_quota_serves_its_own_and_the_listed_namespaces(label: str, *, is_right: bool) -> None:
    """Where that is checked: any label passes else, and no label always does."""
    quotas = [
        quota("own", "team"),
        quota("lists", "quotas", NAMESPACES, '["team"]'),
        quota("other", "rivals"),
    ]
    named = {**pod(), "metadata": {"labels": {QUOTA_NAME: label}}}

    faults = faults_of(named, namespace="team", quotas=quotas)
    assert [fault.field for fault in faults] == ([] if is_right else [f"metadata.labels[{QUOTA_NAME}]"])
    assert faults_of(named, namespace="team") == ()
    assert faults_of(pod(), namespace="team", quotas=quotas) == ()


def quota(name: str, namespace: str, key: str = "", value: str = "") -> wire.ElasticQuota:
    """An elastic quota."""
    annotations = {key: value} if key else {}
    return wire.ElasticQuota(metadata=wire.ObjectMeta(name=name, namespace=namespace, annotations=annotations))


@pytest.mark.parametrize(
    ("before", "now", "is_right"), [("", "false", False), ("false", "", False), ("true", "true", True)]
)
def test_whether_a_pod_may_lose_borrowed_capacity_does_not_change(before: str, now: str, is_right: bool) -> None:
    """A pod on borrowed capacity would keep it. Other labels, and pods of other schedulers, may change."""

    def marked(text: str, scheduler: str = "volcano") -> Json:
        made = pod(schedulerName=scheduler)
        return {**made, "metadata": {**made["metadata"], "labels": {PREEMPTIBLE: text} if text else {"a": now}}}

    faults = faults_of(marked(now), marked(before))
    assert [fault.field for fault in faults] == ([] if is_right else [f"metadata.labels[{PREEMPTIBLE}]"])
    assert faults_of(marked(now, "other"), marked(before, "other")) == ()
