"""What is said while the first lists do not come."""

from types import SimpleNamespace
from typing import Any

import pytest

from pyroclast.kube.api.errors import ApiError, NoAnswerError
from pyroclast.model.errors import CacheError
from pyroclast.scheduler.daemon.sync_diagnostics import failing_watches, trouble_of


@pytest.mark.parametrize(
    ("error", "event", "remedy"),
    [
        (NoAnswerError("GET /api/v1/pods: refused"), "server_unreachable", "this is its address"),
        (ApiError(401, "Unauthorized", "Unauthorized"), "credentials_refused", "renew the user's credentials"),
        (ApiError(403, "Forbidden", "pods is forbidden"), "permission_refused", "bind the scheduler's ClusterRole"),
    ],
    ids=["away", "wrong token", "no permission"],
)
def test_each_trouble_has_its_remedy(error: ApiError, event: str, remedy: str) -> None:
    """The error is reported as it came, with what to do."""
    trouble = trouble_of([None, error])

    assert trouble is not None
    assert (trouble.event, trouble.error) == (event, str(error))
    assert remedy in trouble.remedy


def test_the_commonest_fault_is_reported() -> None:
    """One kind may not be listed while the server is away for two."""
    away, forbidden = NoAnswerError("away"), ApiError(403, "Forbidden", "no")
    trouble = trouble_of([forbidden, away, away])

    assert trouble is not None
    assert trouble.event == "server_unreachable"


def test_what_mends_itself_is_no_trouble() -> None:
    """Nothing, a broken stream, a busy server."""
    assert trouble_of([None, CacheError("cut"), ApiError(429, "TooManyRequests", "later")]) is None


def followed(label: str, failing_seconds: float) -> Any:
    """Return what readiness reads of a reflector."""
    return SimpleNamespace(
        resource=SimpleNamespace(label=label), failing_seconds=failing_seconds, trouble=NoAnswerError("cut by a proxy")
    )


def test_a_kind_that_cannot_be_followed_for_a_minute_is_named() -> None:
    """Short failures are normal: connections break."""
    assert failing_watches([followed("pods", 59.0), followed("nodes", 0.0)]) is None
    assert (
        failing_watches([followed("pods", 61.0), followed("nodes", 0.0)])
        == "lists or watches fail: pods for 61 s (cut by a proxy)"
    )
