"""Exceptions for refusals of the API server.

PyroclastError
└── ApiError             the server refused, see `status` and `reason`
    ├── NoAnswerError    no answer came: the request may or may not have been carried out
    └── ApiConflictError (a ConflictError too)   read again, then retry
"""

from math import isfinite
from typing import Final

import msgspec

from pyroclast.model.errors import ConflictError, PyroclastError
from pyroclast.model.wire import Status, StatusCause

__all__ = ["ApiConflictError", "ApiError", "NoAnswerError", "means_another", "refusal"]

_TOO_MANY_REQUESTS: Final = 429
_LONGEST_RETRY_AFTER: Final = 30.0
"""Maximum of a server's Retry-After, as long as our own back-off; a longer wait would leave the copy stale."""
_LONGEST_MESSAGE: Final = 4096
"""Maximum length of a refusal's message: it is used in logs, events and conditions."""
_STATUS: Final = msgspec.json.Decoder(Status)


class ApiError(PyroclastError):
    """The API server refused a request."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        retry_after: float = 0.0,
        causes: tuple[StatusCause, ...] = (),
    ) -> None:
        """Store the server's answer.

        Args:
            status: HTTP status code, 0 if no answer came.
            reason: Machine-readable reason: `NotFound`, `Conflict`, ...
            message: Message for people.
            retry_after: Seconds that the server requests to wait, 0 if none.
            causes: Invalid fields.
        """
        super().__init__(f"{status} {reason}: {message}" if status else message)
        self.status, self.reason, self.message = status, reason, message
        self.retry_after, self.causes = retry_after, causes

    @property
    def is_not_found(self) -> bool:
        """Whether the object, or its kind, does not exist."""
        return self.status == 404

    @property
    def is_forbidden(self) -> bool:
        """Whether permissions, quotas or other checks of the server refuse the request; this may change."""
        return self.status == 403

    @property
    def is_gone(self) -> bool:
        """Whether the resource version or continue token is too old."""
        return self.status == 410

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later: no answer, too many requests, or a server error."""
        return self.status in {0, _TOO_MANY_REQUESTS} or self.status >= 500


class NoAnswerError(ApiError):
    """No answer came in time; the request may have been carried out."""

    def __init__(self, message: str) -> None:
        """Store a description of the failure."""
        super().__init__(0, "NoAnswer", message)


class ApiConflictError(ApiError, ConflictError):
    """The object is not in the state that the request requires."""


def means_another(error: ApiError) -> bool:
    """Return whether a patch was refused because its object is gone or was replaced by another of the same name."""
    return error.is_not_found or (error.status in {409, 422} and "metadata.uid" in error.message)


def refusal(status: int, body: bytes, retry_after: str | None) -> ApiError:
    """Return the exception for a refusal."""
    try:
        answer = _STATUS.decode(body)
    except (msgspec.DecodeError, RecursionError):
        answer = Status(message=body[:200].decode(errors="replace"))
    details = answer.details
    asked = _wait(retry_after) or float(details.retry_after_seconds if details else 0)
    kind = ApiConflictError if status == 409 else ApiError
    return kind(
        status,
        answer.reason or "Unknown",
        answer.message[:_LONGEST_MESSAGE] or f"HTTP status {status}",
        retry_after=min(asked, _LONGEST_RETRY_AFTER),
        causes=details.causes if details else (),
    )


def _wait(retry_after: str | None) -> float:
    """Return the seconds of a Retry-After header; API servers do not use its date form."""
    try:
        seconds = float(retry_after or 0)
    except ValueError:
        return 0.0
    return max(0.0, seconds) if isfinite(seconds) else 0.0
