"""Leadership: work while holding the lease, and end the process when the lease is lost."""

import asyncio
import math
import socket
import uuid
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from pyroclast.kube.lease import Elector, LeaseOptions
from pyroclast.scheduler.cli.process_options import ProcessOptions

__all__ = ["Alone", "LeadershipLostError", "lead", "lead_to_the_end", "lease_options"]

LEASE_LOST: Final = 1
"""Exit status of a process whose lease was lost."""

_log = structlog.get_logger(__name__)


class LeadershipLostError(Exception):
    """The lease is lost. Another process may lead now, so this process must not change the cluster any more."""


class Alone:
    """Leadership without an election."""

    is_leader = True


def lease_options(options: ProcessOptions) -> LeaseOptions:
    """Return the lease that the flags name, with an identity that is unique to this process."""
    return LeaseOptions(
        namespace=options.lease_namespace,
        name=options.leader_elect_resource_name,
        identity=f"{socket.gethostname()}_{uuid.uuid4()}",
        # A lease counts whole seconds. Rounding up keeps the order of the three durations.
        lease_seconds=math.ceil(options.leader_elect_lease_duration),
        renew_deadline_seconds=options.leader_elect_renew_deadline,
        retry_seconds=options.leader_elect_retry_period,
    )


async def lead(elector: Elector, work: Callable[[], Awaitable[None]], *, stopping: asyncio.Event) -> None:
    """Wait for the lease, do the work while holding it, and release it when the work has ended.

    Args:
        elector: Runs for the lease.
        work: The leader's work. It must end soon after `stopping` is set.
        stopping: Set when the process must end. A standby then stops waiting.

    Raises:
        LeadershipLostError: The lease was lost before the work had ended, and the work was cancelled.
    """
    began, lost = asyncio.Event(), asyncio.Event()

    async def started() -> None:
        began.set()
        try:
            await work()
        except asyncio.CancelledError:
            lost.set()
            raise

    running = asyncio.ensure_future(elector.run(started))
    asked, gone = asyncio.ensure_future(stopping.wait()), asyncio.ensure_future(lost.wait())
    try:
        await asyncio.wait((running, asked, gone), return_when=asyncio.FIRST_COMPLETED)
        if asked.done() and began.is_set() and not lost.is_set():
            await asyncio.wait((running, gone), return_when=asyncio.FIRST_COMPLETED)
        if lost.is_set():
            raise LeadershipLostError
        if running.done():
            running.result()
    finally:
        for task in (running, asked, gone):
            task.cancel()
        await asyncio.gather(running, asked, gone, return_exceptions=True)


async def lead_to_the_end(
    elector: Elector | None, work: Callable[[], Awaitable[None]], *, stopping: asyncio.Event
) -> int:
    """Lead as `lead` does, or only work if there is no election. Return the exit status of the process."""
    try:
        if elector is None:
            await work()
        else:
            await lead(elector, work, stopping=stopping)
    except LeadershipLostError:
        _log.error("leadership_lost")
        return LEASE_LOST
    _log.info("stopped")
    return 0
