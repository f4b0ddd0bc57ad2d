"""Refusals as the API server words them: an exception that carries a `Status` object."""

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = [
    "ApiError",
    "already_exists",
    "bad_request",
    "conflict",
    "expired",
    "forbidden",
    "invalid",
    "method_not_allowed",
    "not_found",
    "not_found_path",
    "success",
    "too_many_requests",
    "too_new",
    "unsupported_media_type",
]


class ApiError(Exception):
    """An answer other than success. Remedy: the Status in the answer describes the fault.

    Without a reason (an empty text) it is an error that the real server did not expect; with empty details it is one
    of the path to the resource; with None it is one of the resource itself.
    """

    def __init__(
        self, code: int, reason: str, message: str, details: dict[str, Any] | None = None, *, retry_after: int = 0
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after = retry_after

    def status(self) -> dict[str, Any]:
        """The body of the answer."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        }
        if self.reason:
            body["reason"] = self.reason
        details = dict(self.details or {})
        if self.retry_after:
            details["retryAfterSeconds"] = self.retry_after
        if details or self.details is not None:
            body["details"] = details
        return body


def about(group: str, plural: str, name: str) -> dict[str, Any]:
    """Details that say which object is meant."""
    details: dict[str, Any] = {"name": name} if name else {}
    if group:
        details["group"] = group
    details["kind"] = plural
    return details


def qualified(group: str, plural: str) -> str:
    """Resource and group as messages name them."""
    return f"{plural}.{group}" if group else plural


def not_found(group: str, plural: str, name: str) -> ApiError:
    """404 for an object."""
    return ApiError(404, "NotFound", f'{qualified(group, plural)} "{name}" not found', about(group, plural, name))


def not_found_path() -> ApiError:
    """404 for a path that nothing serves."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(group: str, plural: str, name: str) -> ApiError:
    """409 on create."""
    return ApiError(
        409, "AlreadyExists", f'{qualified(group, plural)} "{name}" already exists', about(group, plural, name)
    )


def conflict(group: str, plural: str, name: str, why: str = "") -> ApiError:
    """409 on a stale or otherwise impossible change."""
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {why}'
    return ApiError(409, "Conflict", message, about(group, plural, name))


def precondition(field: str, requested: str, found: str, key: str) -> str:
    """The text of a failed UID or ResourceVersion precondition."""
    return (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: {field} in precondition: {requested}, {field} in object meta: {found}"
    )


def bad_request(message: str) -> ApiError:
    """400."""
    return ApiError(400, "BadRequest", message)


def forbidden(group: str, plural: str, name: str, why: str, causes: Iterable[dict[str, str]] = ()) -> ApiError:
    """403, as admission gives it."""
    details = about(group, plural, name)
    if causes := list(causes):
        details["causes"] = causes
    return ApiError(403, "Forbidden", f'{qualified(group, plural)} "{name}" is forbidden: {why}', details)


def cause(field: str, kind: str, detail: str) -> dict[str, str]:
    """One cause of an Invalid status, kind as `FieldValueRequired`."""
    return {"reason": kind, "message": detail, "field": field}


def invalid(group: str, kind: str, name: str, causes: Sequence[dict[str, str]]) -> ApiError:
    """422 with every fault at once."""
    texts = [f"{one['field']}: {one['message']}" for one in causes]
    listed = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    shown = f"{kind}.{group}" if group else kind
    details = about(group, kind, name)
    details["causes"] = list(causes)
    return ApiError(422, "Invalid", f'{shown} "{name}" is invalid: {listed}', details)


def method_not_allowed() -> ApiError:
    """405."""
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def not_acceptable() -> ApiError:
    """406, listing what could be had."""
    return ApiError(
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json, application/yaml",
    )


def unsupported_media_type(message: str) -> ApiError:
    """415."""
    return ApiError(415, "UnsupportedMediaType", message)


def expired(message: str) -> ApiError:
    """410: the version asked for is no longer kept."""
    return ApiError(410, "Expired", message)


def too_many_requests(message: str, causes: Iterable[dict[str, str]]) -> ApiError:
    """429."""
    return ApiError(429, "TooManyRequests", message, {"causes": list(causes)})


def success(details: dict[str, Any] | None = None, code: int = 0) -> dict[str, Any]:
    """A Status that says all went well."""
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        body["details"] = details
    if code:
        body["code"] = code
    return body


def too_new(requested: int, current: int) -> ApiError:
    """504 for a revision that is still to come."""
    message = f"Too large resource version: {requested}, current: {current}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return ApiError(504, "Timeout", f"Timeout: {message}", {"causes": causes}, retry_after=1)
