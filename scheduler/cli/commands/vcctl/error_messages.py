"""Errors in kubectl's words."""

import re

from pyroclast.kube.errors import ApiError, NoAnswerError

__all__ = ["in_kubectls_words"]

_INVALID = re.compile(r'^(?P<kind>\w+)\S* "(?P<name>.*)" is invalid')
_NO_SUCH_KIND = "the server could not find the requested resource"
_REFUSED = ("ConnectionRefused", "Cannot connect to host")


def in_kubectls_words(error: ApiError, *, server: str, plural: str) -> str:
    """Return the message for a failed request.

    Args:
        error: The error.
        server: Address of the API server.
        plural: The requested kind.
    """
    if isinstance(error, NoAnswerError):
        if any(word in error.message for word in _REFUSED):
            host = server.partition("://")[2]
            return f"The connection to the server {host} was refused - did you specify the right host or port?"
        return f"Unable to connect to the server: {error.message}"
    if error.is_not_found and (_NO_SUCH_KIND in error.message or error.reason == "Unknown"):
        return f'error: the server doesn\'t have a resource type "{plural}"'
    invalid = _INVALID.match(error.message) if error.reason == "Invalid" else None
    if invalid is not None and error.causes:
        return _invalid(f'The {invalid["kind"]} "{invalid["name"]}" is invalid:', error)
    reason = "" if error.reason in {"", "Unknown"} else f" ({error.reason})"
    return f"Error from server{reason}: {error.message}"


def _invalid(head: str, error: ApiError) -> str:
    faults = [f"{cause.field}: {cause.message}" for cause in error.causes]
    return f"{head} {faults[0]}" if len(faults) == 1 else "\n* ".join([f"{head} ", *faults])
