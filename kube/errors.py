"""What the API server answers when it refuses, as exceptions.

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
"""Seconds that a server can ask to wait at most, as long as our own back-off: a longer wait would leave us blind."""
_LONGEST_MESSAGE: Final = 4096
"""Characters of a refusal that are kept: it goes into logs, events and conditions."""
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
        """Take what the server said.

        Args:
            status: HTTP status code, 0 when no answer came.
            reason: The machine's word: `NotFound`, `Conflict`, ...
            message: The people's words.
            retry_after: Seconds the server asks to wait, 0 when it does not.
            causes: Single fields at fault.
        """
        super().__init__(f"{status} {reason}: {message}" if status else message)
        self.status, self.reason, self.message = status, reason, message
        self.retry_after, self.causes = retry_after, causes

    @property
    def is_not_found(self) -> bool:
        """The object, or its kind, is not there."""
        return self.status == 404

    @property
    def is_forbidden(self) -> bool:
        """Rights, quotas or other checks of the server stand in the way; somebody may clear it."""
        return self.status == 403

    @property
    def is_gone(self) -> bool:
        """The resource version or continue token is too old."""
        return self.status == 410

    @property
    def is_temporary(self) -> bool:
        """The same request may succeed later: no answer, too many requests, or trouble inside the server."""
        return self.status in {0, _TOO_MANY_REQUESTS} or self.status >= 500


class NoAnswerError(ApiError):
    """No answer came in time; the request may have been carried out all the same."""

    def __init__(self, message: str) -> None:
        """Say what happened instead of an answer."""
        super().__init__(0, "NoAnswer", message)


class ApiConflictError(ApiError, ConflictError):
    """The object is not as the request presumed."""


def means_another(error: ApiError) -> bool:
    """Tell whether a patch was refused because the object it meant is gone, or its name another's by now."""
    return error.is_not_found or (error.status in {409, 422} and "metadata.uid" in error.message)


def refusal(status: int, body: bytes, retry_after: str | None) -> ApiError:
    """Turn a refusing answer into its exception."""
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
    """Seconds of a Retry-After header; its date form is not used by API servers."""
    try:
        seconds = float(retry_after or 0)
    except ValueError:
        return 0.0
    return max(0.0, seconds) if isfinite(seconds) else 0.0
