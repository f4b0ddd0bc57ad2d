"""Sync diagnostics: log why the first lists are incomplete, once for all kinds, with the remedy.

The process waits for an unreachable server and for valid credentials, because both can be fixed while it runs.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import structlog

from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.reflector import Reflector
from pyroclast.model.errors import PyroclastError

__all__ = ["Trouble", "failing_watches", "log_why_unsynced", "trouble_of"]

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_UNANSWERED: Final = 0
_FIRST_LOG_SECONDS: Final = 1.0
"""Delay of the first message."""
_MAX_LOG_SECONDS: Final = 30.0
"""Maximum interval between messages."""

_FAILING_SECONDS: Final = 60.0
"""A kind whose watch fails for longer makes the process unready, because its objects are stale."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One reason why kinds cannot be listed."""

    event: str
    """Event name of the log line."""
    error: str
    """The error of the server or of the connection."""
    remedy: str


_REMEDIES: Final = {
    _UNANSWERED: Trouble(
        event="server_unreachable",
        error="",
        remedy="check that the API server runs and that this is its address (kubectl cluster-info, with the same file"
        " and context); the process waits for it",
    ),
    _UNAUTHORIZED: Trouble(
        event="credentials_refused",
        error="",
        remedy="the server refuses this token or certificate: renew the user's credentials in the kubeconfig, or "
        "name another file with --kubeconfig; credentials in files and plugins are read again meanwhile",
    ),
    _FORBIDDEN: Trouble(
        event="permission_refused",
        error="",
        remedy="the server refuses to list this kind: bind the scheduler's ClusterRole to the user or service "
        "account that the error names",
    ),
}


def trouble_of(errors: Iterable[PyroclastError | None]) -> Trouble | None:
    """Return the most frequent trouble among the errors of reflectors; None if no error has a known remedy."""
    found: dict[int, list[str]] = {}
    for error in errors:
        if isinstance(error, ApiError) and error.status in _REMEDIES:
            found.setdefault(error.status, []).append(str(error))
    if not found:
        return None
    status, texts = max(found.items(), key=lambda item: (len(item[1]), -item[0]))
    known = _REMEDIES[status]
    return Trouble(event=known.event, error=texts[0], remedy=known.remedy)


def failing_watches(reflectors: Iterable[Reflector[Any]]) -> str | None:
    """Return a sentence with the kinds whose watches fail and their last errors; None if all work."""
    failing = [
        f"{each.resource.label} for {each.failing_seconds:.0f} s ({each.trouble})"
        for each in reflectors
        if each.failing_seconds > _FAILING_SECONDS
    ]
    return f"lists or watches fail: {'; '.join(failing)}" if failing else None


async def log_why_unsynced(
    server: str, *, lagging: Callable[[], Sequence[str]], trouble: Callable[[], Trouble | None]
) -> NoReturn:
    """Log what the first lists wait for, at growing intervals, until cancelled."""
    wait = _FIRST_LOG_SECONDS
    while True:
        await asyncio.sleep(wait)
        kinds, why = lagging(), trouble()
        if why is not None:
            _log.error(why.event, server=server, error=why.error, remedy=why.remedy)
        elif kinds:
            _log.warning("still_syncing", lagging=kinds)
        wait = min(2 * wait, _MAX_LOG_SECONDS)
