"""Outcomes: why a Job failed whose pods have all ended, or completed although some of them failed."""

from pyroclast.controllers.jobs.causes import failed_pod
from pyroclast.controllers.jobs.counting import Counts
from pyroclast.controllers.jobs.observed import Observed
from pyroclast.controllers.jobs.states import tasks_that_fell_short
from pyroclast.model.api.batch import JobPhase

__all__ = ["TOO_FEW_SUCCEEDED", "outcome"]

TOO_FEW_SUCCEEDED = "TooFewSucceeded"
"""Reason of the state of a Job that failed without an action."""


def outcome(seen: Observed, counts: Counts, phase: JobPhase) -> tuple[str, str]:
    """Return reason and message of the phase in which a Job ends; both empty where there is nothing to explain."""
    if phase == JobPhase.FAILED:
        return TOO_FEW_SUCCEEDED, f"{_what_lacks(seen, counts)}{_first_failure(seen, counts)}"
    if phase == JobPhase.COMPLETED and counts.failed:
        return "", f"{counts.succeeded} pods succeeded, which is enough{_first_failure(seen, counts)}"
    return "", ""


def _what_lacks(seen: Observed, counts: Counts) -> str:
    spec = seen.job.spec
    if spec.min_success is not None:
        return f"{counts.succeeded} pods succeeded, minSuccess is {spec.min_success}"
    short = tasks_that_fell_short(spec, counts)
    if short:
        return "; ".join(
            f"task {name}: {succeeded} pods succeeded, minAvailable is {least}" for name, succeeded, least in short
        )
    return f"{counts.succeeded} pods succeeded, minAvailable is {spec.min_available}"


def _first_failure(seen: Observed, counts: Counts) -> str:
    """Say which pod failed first in order of tasks, and how many others did."""
    failed = next((pod for pod in seen.members.values() if pod.status.phase == "Failed"), None)
    if failed is None:
        return ""
    more = f"; {counts.failed - 1} more failed" if counts.failed > 1 else ""
    return f"; {failed_pod(failed)}{more}"
