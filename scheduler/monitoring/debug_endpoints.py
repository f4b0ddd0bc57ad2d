"""Debug endpoints of the daemon.

================  ===============================================================================
path              answer
================  ===============================================================================
/debug/snapshot   the cluster as seen, a List of objects that `pyroclast simulate` reads
/debug/explain    `?job=namespace/name`: why a job waits, from the last cycle
/debug/audit      where the books differ from a rebuild, made now; nowhere, if all is well
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
    """Return what answers, by path.

    Args:
        snapshot: The cluster as seen, JSON.
        explain: What the last cycle said of a job `namespace/name`; None for a job it did not see.
        audit: What differs between the running books and a rebuild.
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
