"""Pod groups, HyperNodes and job flows."""

import pytest

from pyroclast.controllers.admission.handlers import SERVICES, AdmissionPolicy, KnownCluster, review_object
from pyroclast.controllers.admission.lookups import QueuesByName
from pyroclast.controllers.admission.reviews import Review, ReviewedResource
from pyroclast.controllers.admission.rules import hypernodes, jobflows, podgroups
from pyroclast.model.api.names import POD_QUEUE_NAME
from tests.unit.controllers.admission.objects import Json, queue

QUEUES = QueuesByName([queue("default"), queue("closed", state="Closing"), queue("above"), queue("below", "above")])


def pod_group(**spec: object) -> Json:
    """A pod group."""
    return {"metadata": {"name": "g", "namespace": "team"}, "spec": {"queue": "default", **spec}}


def hyper_node(*patterns: str) -> Json:
    """A HyperNode with members by pattern."""
    members = [{"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}} for pattern in patterns]
    return {"metadata": {"name": "h"}, "spec": {"tier": 1, "members": members}}


def warned(path: str, value: Json) -> tuple[str, ...]:
    """Warnings for the user of an accepted object."""
    service = SERVICES[path]
    resource = ReviewedResource(group=service.group, resource=service.resource)
    verdict = review_object(
        service, Review(uid="u", operation="CREATE", resource=resource, object=value), AdmissionPolicy(), KnownCluster()
    )
    assert verdict.faults == ()
    return verdict.warnings


def job_flow(**waits_for: list[str]) -> Json:
    """A flow of jobs."""
    flows = [{"name": name, "dependsOn": {"targets": targets}} for name, targets in waits_for.items()]
    return {"metadata": {"name": "f"}, "spec": {"flows": flows}}


@pytest.mark.parametrize(
    ("name", "annotations", "expected"),
    [
        ("default", {POD_QUEUE_NAME: "research"}, [{"op": "add", "path": "/spec/queue", "value": "research"}]),
        ("default", {}, []),
        ("default", {POD_QUEUE_NAME: ""}, []),
        ("mine", {POD_QUEUE_NAME: "research"}, []),
    ],
)
def test_the_queue_of_the_namespace(name: str, annotations: Json, expected: list[Json]) -> None:
    """It replaces the default queue, no other."""
    assert podgroups.defaulted(pod_group(queue=name), annotations) == expected


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, None),
        ({"queue": "above"}, None),
        ({"queue": ""}, None),
        ({"queue": "gone"}, "unable to find queue"),
        (
            {"queue": "closed"},
            "can only submit PodGroup to queue with state `Open`, queue `closed` status is `Closing`",
        ),
        (
            {"networkTopology": {"highestTierAllowed": 1, "highestTierName": "rack"}},
            "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously",
        ),
        (
            {
                "subGroupPolicy": [
                    {"name": "s", "networkTopology": {"highestTierAllowed": 0, "highestTierName": "rack"}}
                ]
            },
            "in subGroupPolicy 's': must not specify 'highestTierAllowed' and 'highestTierName'",
        ),
        (
            {"networkTopology": {"mode": "firm", "highestTierAllowed": 1}},
            "spec.networkTopology.mode: 'firm' is neither hard nor soft; it counts as hard",
        ),
    ],
)
def test_new_pod_groups(spec: Json, words: str | None) -> None:
    """The queue exists and is open, one tier is given; an empty name is no queue."""
    faults = podgroups.faults_of(pod_group(**spec), lookups=QUEUES)

    assert [(words or "") in str(fault) for fault in faults] == ([True] if words else [])


def test_what_limits_nothing_or_selects_no_pod_is_warned_of() -> None:
    """Volcano takes it, and says nothing."""
    keys = {"matchLabelKeys": ["part"]}
    term = {"key": "part", "operator": "Is", "values": ["a"]}
    policies = [
        {"name": "sound", **keys, "networkTopology": {"highestTierAllowed": 1}},
        {"name": "soft", **keys, "networkTopology": {"mode": "soft"}},
        {"name": "hard", **keys, "networkTopology": {"mode": "hard"}},
        {"name": "unread", "labelSelector": {"matchExpressions": [term]}},
        {"name": "empty"},
    ]
    told = podgroups.warnings_of(pod_group(networkTopology={}, subGroupPolicy=policies))

    assert [each.partition(": ")[0] for each in told] == [
        "spec.networkTopology",
        "spec.subGroupPolicy[2].networkTopology",
        "spec.subGroupPolicy[3].labelSelector.matchExpressions[0].operator",
        "spec.subGroupPolicy[4]",
    ]
    assert told[0] in warned("/podgroups/validate", pod_group(networkTopology={}))


def test_changed_pod_groups_are_not_judged() -> None:
    """Their queue may close meanwhile."""
    assert podgroups.faults_of(pod_group(queue="closed", minMember=2), pod_group(queue="closed"), QUEUES) == ()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (hyper_node("^node-[0-9]+$"), None),
        (hyper_node(), "member must have at least one member"),
        (hyper_node("ok", "("), "member regexMatch pattern is invalid"),
        ({"metadata": {"name": "h"}, "spec": {"tier": "low"}}, "expected `int`, got `str`"),
    ],
)
def test_hypernodes(value: Json, words: str | None) -> None:
    """At least one member; patterns are patterns."""
    faults = hypernodes.faults_of(value)

    assert [(words or "") in str(fault) for fault in faults] == ([True] if words else [])


def test_members_that_are_nothing_to_the_scheduler_are_warned_of() -> None:
    """HyperNodes are named; labels and patterns find nodes. Volcano takes them too, and says nothing."""
    by_label = {"labelMatch": {"matchLabels": {"row": "a"}}}
    members = [
        {"type": "HyperNode", "selector": {"exactMatch": {"name": "rack"}}},
        {"type": "HyperNode", "selector": by_label},
        {"type": "Node", "selector": by_label},
    ]
    (warning,) = warned("/hypernodes/validate", {"metadata": {"name": "h"}, "spec": {"tier": 2, "members": members}})

    assert warning.startswith("spec.members[1].selector: ")


def test_a_stored_hypernode_may_lose_its_finalizers() -> None:
    """What its spec was is not judged again."""
    assert hypernodes.faults_of(hyper_node("("), hyper_node("(")) == ()
    assert hypernodes.faults_of(hyper_node("[", "("), hyper_node("(")) != ()


@pytest.mark.parametrize(
    ("value", "field", "words"),
    [
        (job_flow(a=[], b=["a"], c=["a", "b"]), "", ""),
        (
            job_flow(a=["x"]),
            "spec.flows[0].dependsOn.targets[0]",
            "jobflow Flow is not DAG: vertex is not defined: x",
        ),
        (job_flow(a=["b"], b=["a"]), "spec.flows", 'jobflow Flow is not DAG (got ["a", "b"]'),
        (job_flow(a=["a"]), "spec.flows", "jobflow Flow is not DAG"),
    ],
)
def test_job_flows(value: Json, field: str, words: str) -> None:
    """Flows wait for flows that there are, and not in a circle."""
    faults = jobflows.faults_of(value)

    assert [(fault.field, words in str(fault)) for fault in faults] == ([(field, True)] if field else [])
    assert jobflows.faults_of(value, value) == ()


def test_flows_whose_jobs_could_not_have_their_names() -> None:
    """They are made of two names, and Jobs have at most 63 characters."""
    value = {"metadata": {"name": "f" * 40}, "spec": {"flows": [{"name": "a"}, {"name": "t" * 30}]}}
    (fault,) = jobflows.faults_of(value)

    assert fault.field == "spec.flows[1].name"
    assert "no job can have this name" in str(fault)


def test_flow_fields_without_effect_have_warnings() -> None:
    """Volcano takes them too, and says nothing."""
    value = job_flow(a=[], b=["a"])
    value["spec"]["flows"][0]["patch"] = {"jobSpec": {"minAvailable": 2}}
    value["spec"]["flows"][1]["dependsOn"]["probe"] = {"tcpSocketList": [{"taskName": "t", "port": 80}]}

    told = warned("/jobflows/validate", value)

    assert [words.partition(" ")[0] for words in told] == ["spec.flows[0].patch", "spec.flows[1].dependsOn.probe"]
