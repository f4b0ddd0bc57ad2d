"""Reviews: what is a question, what is none, and answers in their form."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyroclast.controllers.admission.faults import Fault, faults_message
from pyroclast.controllers.admission.handlers import SERVICES, AdmissionPolicy, KnownCluster, review_object
from pyroclast.controllers.admission.lookups import QueuesByName
from pyroclast.controllers.admission.reviews import (
    AdmissionVerdict,
    Review,
    ReviewedResource,
    ReviewError,
    answer,
    read_review,
)
from pyroclast.controllers.admission.rules.differences import differences
from tests.unit.controllers.admission.objects import Json, job, queue, queue_json


def envelope(**request: Any) -> Json:
    """A question."""
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", **request}}


def encoded(value: object) -> bytes:
    """JSON."""
    return json.dumps(value).encode()


def test_a_question_is_read() -> None:
    """Nulls are absent fields; what is not needed is ignored."""
    body = envelope(
        operation="DELETE",
        name="q",
        object=None,
        oldObject={"a": None},
        namespace=None,
        userInfo={"username": "me"},
        resource={"group": "scheduling.volcano.sh", "version": "v1beta1", "resource": "queues"},
    )

    review = read_review(encoded(body))

    assert (review.uid, review.operation, review.name, review.namespace) == ("u", "DELETE", "q", "")
    assert review.resource.resource == "queues"
    assert (review.object, review.old_object) == (None, {"a": None})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "the body is not JSON"),
        (b"{", "the body is not JSON"),
        (b"\xff\xfe", "the body is not JSON"),
        (b'{"request":' + b"[" * 100_000, "the body is not JSON"),
        (b"[]", "no AdmissionReview: Expected `object`, got `array`"),
        (encoded({}), "got no kind of no version, expected AdmissionReview of admission.k8s.io/v1"),
        (encoded({**envelope(), "apiVersion": "admission.k8s.io/v1beta1"}), "expected AdmissionReview of"),
        (encoded({**envelope(), "request": None}), "the AdmissionReview has no request"),
        (
            encoded({**envelope(), "request": []}),
            "no AdmissionReview: Expected `object | null`, got `array` - at `$.request`",
        ),
        (encoded(envelope(uid=3)), "no AdmissionReview: Expected `str`, got `int` - at `$.request.uid`"),
        (encoded(envelope(uid=None)), "missing required field `uid`"),
    ],
)
def test_what_is_no_question_says_why(body: bytes, words: str) -> None:
    """A clear text, never a surprise."""
    with pytest.raises(ReviewError) as caught:
        read_review(body)

    assert words in str(caught.value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@given(st.binary(max_size=300) | JSON.map(encoded) | JSON.map(lambda value: encoded({**envelope(), "request": value})))
@settings(max_examples=80, deadline=None)
def test_any_bytes_are_a_question_or_a_review_error(body: bytes) -> None:
    """No other exception comes out, whatever comes in."""
    try:
        assert isinstance(read_review(body), Review)
    except ReviewError as error:
        assert str(error)  # noqa: PT017  either outcome is right


QUEUES = QueuesByName([queue("default"), queue("root")])


def mutilated(value: Any, at: list[int], by: Any) -> Any:
    """Put something else at a place of an object that the numbers lead to."""
    if not at or not isinstance(value, dict | list) or not value:
        return by
    keys: list[Any] = sorted(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[at[0] % len(keys)]
    copy: Any = value.copy()
    copy[key] = mutilated(value[key], at[1:], by)
    return copy


@given(
    path=st.sampled_from(sorted(SERVICES)),
    at=st.lists(st.integers(0, 30), max_size=8),
    by=JSON,
    base=st.sampled_from([job(), queue_json(parent="a", capability={"cpu": "1"}, guarantee={"resource": {"cpu": 1}})]),
    operation=st.sampled_from(["CREATE", "UPDATE", "DELETE"]),
)
@settings(max_examples=150, deadline=None)
def test_broken_objects_are_answered(path: str, at: list[int], by: Any, base: Json, operation: str) -> None:
    """Whatever stands anywhere in an object, each service answers, and its answer is JSON."""
    service = SERVICES[path]
    resource = {"group": service.group, "resource": service.resource, "version": "v1"}
    broken = mutilated(base, at, by)
    body = envelope(operation=operation, object=broken, oldObject=base, resource=resource, name="x", namespace="n")
    review = read_review(encoded(body))

    verdict = review_object(service, review, AdmissionPolicy(gates_pods=True), KnownCluster(lookups=QUEUES))

    assert json.loads(answer(review, verdict))["response"]["uid"] == "u"


@pytest.mark.parametrize(
    ("levels", "rules"), [(900, ["is nested too deeply"]), (250, ["is nested too deeply"]), (150, [])]
)
def test_an_object_that_is_nested_too_deeply_is_refused(levels: int, rules: list[str]) -> None:
    """The reason is said; nothing breaks. The limit does not depend on the stack."""
    deep: Any = "x"
    for _ in range(levels):
        deep = [deep]
    value = job()
    value["spec"]["tasks"][0]["template"]["spec"]["unheardOf"] = deep
    resource = {"group": "batch.volcano.sh", "resource": "jobs"}
    review = Review(uid="u", operation="CREATE", object=value, resource=msgspec.convert(resource, ReviewedResource))

    verdict = review_object(SERVICES["/jobs/validate"], review, AdmissionPolicy(), KnownCluster(lookups=QUEUES))

    assert [fault.rule for fault in verdict.faults] == rules


def test_long_keys_make_no_long_paths() -> None:
    """Each of a thousand changed items has a path below a key of 100,000 characters; the answer is short."""

    def with_items(value: int) -> Any:
        changed = job()
        spec = changed["spec"]["tasks"][0]["template"]["spec"]
        spec["x" * 100_000] = [{"y": value} for _ in range(1000)]
        return changed

    resource = msgspec.convert({"group": "batch.volcano.sh", "resource": "jobs"}, ReviewedResource)
    review = Review(uid="u", operation="UPDATE", object=with_items(1), old_object=with_items(2), resource=resource)
    verdict = review_object(SERVICES["/jobs/validate"], review, AdmissionPolicy(), KnownCluster(lookups=QUEUES))
    paths = list(differences(review.old_object, review.object, "job"))

    assert len(paths) == 1000
    assert max(map(len, paths)) < 1000
    assert len(answer(review, verdict)) < 5000


def test_a_yes() -> None:
    """It carries the question's identity."""
    assert json.loads(answer(Review(uid="u"), AdmissionVerdict())) == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "u", "allowed": True},
    }


def test_a_yes_with_a_patch() -> None:
    """Patches travel in base64."""
    patches = [{"op": "add", "path": "/spec/queue", "value": "default"}]

    response = json.loads(answer(Review(uid="u"), AdmissionVerdict(patches=patches, warnings=("w" * 300,))))["response"]

    assert response["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(response["patch"])) == patches
    assert response["warnings"] == ["w" * 250]


def test_a_no() -> None:
    """It carries the faults as a status."""
    fault = Fault(field="spec.minAvailable", value=3, expected="at most 2", rule="too many")

    response = json.loads(answer(Review(uid="u"), AdmissionVerdict(faults=(fault,))))["response"]

    assert response["allowed"] is False
    assert response["status"]["message"] == "spec.minAvailable: too many (got 3, expected at most 2)"
    assert (response["status"]["code"], response["status"]["reason"]) == (422, "Invalid")


def test_long_stories_are_cut() -> None:
    """Values and lists of faults have an end."""
    fault = Fault(field="f", value="x" * 1000, rule="r")

    message = faults_message([fault] * 30)

    assert len(message) < 20 * 130
    assert message.endswith("; and 10 more")


def test_other_resources_and_operations_are_allowed() -> None:
    """A configuration that asks too much does no harm."""
    body = envelope(operation="CONNECT", object=None, resource={"group": "batch.volcano.sh", "resource": "jobs"})
    other = envelope(operation="CREATE", object={}, resource={"group": "apps", "resource": "deployments"})

    for question in (body, other):
        review = read_review(encoded(question))
        assert (
            review_object(SERVICES["/jobs/validate"], review, AdmissionPolicy(), KnownCluster(lookups=QUEUES))
            == AdmissionVerdict()
        )


def test_without_queues_the_user_is_warned() -> None:
    """The rest is judged."""
    resource = {"group": "batch.volcano.sh", "resource": "jobs"}
    review = read_review(encoded(envelope(operation="CREATE", object=job(queue="nowhere"), resource=resource)))

    verdict = review_object(SERVICES["/jobs/validate"], review, AdmissionPolicy(), KnownCluster(lookups=None))

    assert verdict.faults == ()
    assert "rules about queues were not checked" in verdict.warnings[0]


def test_arguments_without_effect_are_warned_of() -> None:
    """Volcano takes them too; here kubectl shows a warning."""
    resource = {"group": "batch.volcano.sh", "resource": "jobs"}
    value = job(plugins={"svc": ["--publish=maybe"]})
    review = read_review(encoded(envelope(operation="CREATE", object=value, resource=resource)))

    verdict = review_object(SERVICES["/jobs/validate"], review, AdmissionPolicy(), KnownCluster(lookups=QUEUES))

    assert verdict.faults == ()
    assert any("argument '--publish=maybe' of job plugin svc" in warning for warning in verdict.warnings)
