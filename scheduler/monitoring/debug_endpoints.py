"""Debug endpoints of the daemon.

================  ===============================================================================
path              answer
================  ===============================================================================
/debug/snapshot   the cluster state, as a List of objects for `pyroclast simulate`
/debug/explain    `?job=namespace/name`: why a job waits, from the last cycle
/debug/audit      differences between the cluster state and a rebuild; an empty list is good
================  ===============================================================================
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from pyroclast.scheduler.monitoring.health import Look

__all__ = ["looks"]


def looks(
    *,
    snapshot: Callable[[], Awaitable[bytes]],
    explain: Callable[[str], Mapping[str, Any] | None],
    audit: Callable[[], Awaitable[list[str]]],
) -> dict[str, Look]:
    """Return the handlers by path.

    Args:
        snapshot: Returns the cluster state as JSON.
        explain: Returns the last cycle's explanation of a job `namespace/name`; None for an unknown job.
        audit: Returns the differences between the cluster state and a rebuild.
    """

    async def show_snapshot(_: web.Request) -> web.Response:
        return web.Response(body=await snapshot(), content_type="application/json")

    async def show_audit(_: web.Request) -> web.Response:
        return web.Response(text=json.dumps({"differences": await audit()}) + "\n", content_type="application/json")

    async def show_explained(request: web.Request) -> web.Response:
        job = request.query.get("job", "")
        explained = explain(job)
        if explained is None:
            return web.Response(status=404, text=f"job {job!r} was not in the last cycle; ask for namespace/name\n")
        return web.Response(text=json.dumps(explained, indent=1) + "\n", content_type="application/json")

    return {"/debug/snapshot": show_snapshot, "/debug/explain": show_explained, "/debug/audit": show_audit}
