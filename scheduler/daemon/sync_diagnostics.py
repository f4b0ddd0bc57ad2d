"""Sync diagnostics: why the first lists of the cache are not complete, once for all kinds, with the remedy.

An unreachable server is waited for, and so are credentials that it does not take: both may be mended while we run.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import structlog

from pyroclast.kube.errors import ApiError
from pyroclast.kube.reflector import Reflector
from pyroclast.model.errors import PyroclastError

__all__ = ["Trouble", "failing_watches", "tell_why_unsynced", "trouble_of"]

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_UNANSWERED: Final = 0
_TELL_SECONDS: Final = 1.0
"""Until it is first said why lists lack."""
_TELL_SECONDS_AT_MOST: Final = 30.0
"""Between two such words at most."""

_FAILING_SECONDS: Final = 60.0
"""A kind that could not be followed for this long makes the process unready: its objects are stale."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One reason for all that cannot be listed."""

    event: str
    """Name of the log line."""
    error: str
    """What the server, or the way to it, said."""
    remedy: str


_REMEDIES: Final = {
    _UNANSWERED: Trouble(
        event="server_unreachable",
        error="",
        remedy="see that the API server runs and that this is its address (kubectl cluster-info, with the same file"
        " and context); it is waited for",
    ),
    _UNAUTHORIZED: Trouble(
        event="credentials_refused",
        error="",
        remedy="the server does not take this token or certificate: renew the user's credentials in the kubeconfig, or "
        "name another file by --kubeconfig; credentials in files and plugins are read again while it is waited",
    ),
    _FORBIDDEN: Trouble(
        event="permission_refused",
        error="",
        remedy="the server knows us but lets us not list this: bind the scheduler's ClusterRole to the user or service "
        "account that the error names",
    ),
}


def trouble_of(errors: Iterable[PyroclastError | None]) -> Trouble | None:
    """Return the commonest trouble in what reflectors met; None when they met none that has a remedy here."""
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
    """Return a sentence that names the kinds that cannot be followed, each with its last error; None where all can."""
    failing = [
        f"{each.resource.label} for {each.failing_seconds:.0f} s ({each.trouble})"
        for each in reflectors
        if each.failing_seconds > _FAILING_SECONDS
    ]
    return f"lists or watches fail: {'; '.join(failing)}" if failing else None


async def tell_why_unsynced(
    server: str, *, lagging: Callable[[], Sequence[str]], trouble: Callable[[], Trouble | None]
) -> NoReturn:
    """Say now and then what the first lists wait for, rarer as time passes, until cancelled."""
    wait = _TELL_SECONDS
    while True:
        await asyncio.sleep(wait)
        kinds, why = lagging(), trouble()
        if why is not None:
            _log.error(why.event, server=server, error=why.error, remedy=why.remedy)
        elif kinds:
            _log.warning("still_syncing", lagging=kinds)
        wait = min(2 * wait, _TELL_SECONDS_AT_MOST)
