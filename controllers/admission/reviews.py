"""Reviews: requests of the API server, and the answers in its format (`admission.k8s.io/v1`)."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pyroclast.controllers.admission.faults import Fault, faults_message
from pyroclast.controllers.admission.patches import Patch
from pyroclast.model.api.meta import Wire
from pyroclast.model.errors import PyroclastError

__all__ = ["AdmissionVerdict", "Review", "ReviewError", "ReviewedResource", "answer", "read_review"]

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"

_UNPROCESSABLE: Final = 422
_LONGEST_WARNING: Final = 250
"""Maximum number of characters. The API server cuts after 256."""
_MOST_WARNINGS: Final = 10


class ReviewError(PyroclastError):
    """The body is not an AdmissionReview. Remedy: send requests in the format of the API server."""


class ReviewedResource(Wire, frozen=True, kw_only=True):
    """Kind of the reviewed object."""

    group: str = ""
    version: str = ""
    resource: str = ""


class Review(Wire, frozen=True, kw_only=True):
    """One admission review."""

    uid: str
    resource: ReviewedResource = ReviewedResource()
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    operation: str = ""
    """CREATE, UPDATE or DELETE."""
    dry_run: bool = False
    object: Any = None
    old_object: Any = None


class _Envelope(Wire, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    request: Review | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionVerdict:
    """Answer to the review of an object."""

    faults: tuple[Fault, ...] = ()
    """Reasons to refuse the object. Without faults it is allowed."""
    patches: Sequence[Patch] = ()
    """Patches that fill in defaults."""
    warnings: tuple[str, ...] = ()
    """Warnings for the user about an object that is allowed."""


_DECODER: Final = msgspec.json.Decoder(_Envelope)
_PLAIN: Final = msgspec.json.Decoder(type=dict[str, Any])


def read_review(body: bytes) -> Review:
    """Decode an admission review.

    Raises:
        ReviewError: The body is not a review. The message contains the reason.
    """
    try:
        envelope = _decoded(body)
    except msgspec.ValidationError as error:
        raise ReviewError(f"no {KIND}: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReviewError(f"the body is not JSON: {error}") from error
    if (envelope.api_version, envelope.kind) != (API_VERSION, KIND):
        raise ReviewError(
            f"got {envelope.kind or 'no kind'} of {envelope.api_version or 'no version'}, "
            f"expected {KIND} of {API_VERSION}"
        )
    if envelope.request is None:
        raise ReviewError(f"the {KIND} has no request")
    return envelope.request


def answer(review: Review, verdict: AdmissionVerdict) -> bytes:
    """Return the response to a review as JSON."""
    response: dict[str, Any] = {"uid": review.uid, "allowed": not verdict.faults}
    if verdict.faults:
        response["status"] = {
            "status": "Failure",
            "code": _UNPROCESSABLE,
            "reason": "Invalid",
            "message": faults_message(verdict.faults),
        }
    elif verdict.patches:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(msgspec.json.encode(verdict.patches)).decode()
    if verdict.warnings:
        response["warnings"] = [warning[:_LONGEST_WARNING] for warning in verdict.warnings[:_MOST_WARNINGS]]
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})


def _decoded(body: bytes) -> _Envelope:
    try:
        return _DECODER.decode(body)
    except msgspec.ValidationError:
        # A null means an absent field, as in Kubernetes. Nulls are rare, so they cost a second decoding.
        value = _PLAIN.decode(body)
        return msgspec.convert(_without_top_nulls(value), _Envelope)


def _without_top_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    """Drop null members of the envelope and of its request. The rules handle nulls in the objects."""
    kept = {key: each for key, each in value.items() if each is not None}
    request = kept.get("request")
    if isinstance(request, Mapping):
        kept["request"] = {key: each for key, each in request.items() if each is not None}
    return kept
