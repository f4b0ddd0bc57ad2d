"""ElasticQuotas: what is refused, all of it at once, with its path."""

from typing import Any

import pytest

from controllers.admission.judging import SERVICES, Known, Policy, judge
from controllers.admission.reviews import Review, ReviewedResource
from model.elastic.names import NAMESPACES, SHARED_WEIGHT
from tests.elastic_quotas import elastic_quota


def told(quota: Any, old: Any = None) -> list[str]:
    """What is wrong with a new quota, or with a changed one."""
    service = SERVICES["/elasticquotas/validate"]
    resource = ReviewedResource(group=service.group, resource=service.resource)
    operation = "CREATE" if old is None else "UPDATE"
    review = Review(uid="u", operation=operation, resource=resource, object=quota, old_object=old)
    return [str(fault) for fault in judge(service, review, Policy(), Known()).faults]


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


def test_everything_is_told_at_once() -> None:
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
    """What was stored before the rule came must still be labelled, and told how it stands."""
    broken = elastic_quota("q", least={"cpu": 2}, most={"cpu": 1})
    labelled = {**broken, "metadata": {**broken["metadata"], "labels": {"a": "b"}}}
    assert told(labelled, broken) == []
    assert told(elastic_quota("q", least={"cpu": 3}, most={"cpu": 1}), broken) != []
