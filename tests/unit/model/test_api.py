"""The full structs of custom resources: rules, and objects on their way to the server."""

from typing import get_args

import msgspec

from pyroclast.model.api.batch import Job, JobSpec, JobTemplateSpec, TaskSpec
from pyroclast.model.api.kinds import KINDS
from pyroclast.model.api.meta import ObjectMeta, OwnerReference
from pyroclast.model.api.rules import DEFAULTED, Count, FieldRules


def test_rules_are_laid_over_each_other() -> None:
    """What a later rule says wins, what it does not say stays."""
    merged = FieldRules.merged([FieldRules(format="int32", minimum=0), FieldRules(minimum=1), DEFAULTED])

    assert merged == FieldRules(format="int32", minimum=1, is_defaulted=True)


def test_a_rule_of_zero_is_a_rule() -> None:
    """A minimum of 0 is not the same as none."""
    assert FieldRules.merged([FieldRules(minimum=1), FieldRules(minimum=0)]).minimum == 0
    assert get_args(Count) == (int, FieldRules(format="int32", minimum=0))


def test_an_object_is_sent_with_its_kind() -> None:
    """Group, version and kind are added; what is at its default is left to the server."""
    owner = OwnerReference(api_version="v1", kind="Pod", name="p", uid="u", controller=True, block_owner_deletion=True)
    job = Job(
        metadata=ObjectMeta(generate_name="a-", namespace="team", owner_references=(owner,)),
        spec=JobSpec(tasks=(TaskSpec(name="work", replicas=2, template={"spec": {}}),)),
    )

    assert msgspec.json.decode(msgspec.json.encode(job.as_json())) == {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {
            "generateName": "a-",
            "namespace": "team",
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": "p",
                    "uid": "u",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"tasks": [{"name": "work", "replicas": 2, "template": {"spec": {}}}]},
    }


def test_a_job_is_the_same_inside_a_template() -> None:
    """What a CronJob keeps is what a Job is made of."""
    assert JobTemplateSpec().spec == Job(metadata=ObjectMeta()).spec == JobSpec()


def test_kinds_are_named_apart() -> None:
    """No two kinds share a definition's name."""
    names = [kind.definition.name for kind in KINDS]

    assert len(set(names)) == len(names)
    assert "jobs.batch.volcano.sh" in names
