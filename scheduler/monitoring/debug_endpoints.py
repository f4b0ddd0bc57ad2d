"""Debug endpoints of the daemon.

================  ===============================================================================
path              answer
================  ===============================================================================
/debug/snapshot   the cluster state, as a List of objects for `pyroclast simulate`
/debug/explain    `?job=namespace/name`: why a job waits, from the last cycle; the name of its PodGroup, Job or gang
/debug/explain    `?pod=namespace/name`: the scores of each plugin for its nodes, and which rule refuses which node;
                  `nodes=N` sets the number of nodes in the table; the name of a job gives all its pods
/debug/audit      differences between the cluster state and a rebuild; an empty list is good
================  ===============================================================================
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from aiohttp import web

from pyroclast.framework.session.shadows.tracing import MOST_NODES
from pyroclast.model.texts import shortened
from pyroclast.scheduler.monitoring.examinations import DEFAULT_NODES
from pyroclast.scheduler.monitoring.health import Look

__all__ = ["BusyError", "looks"]

_FEW_DIGITS: Final = re.compile("[0-9]{1,9}")


class BusyError(Exception):
    """Too many examinations wait."""


def looks(
    *,
    snapshot: Callable[[], Awaitable[bytes]],
    explain: Callable[[str], Mapping[str, Any] | None],
    examine: Callable[[str, int], Awaitable[list[dict[str, Any]] | None]],
    audit: Callable[[], Awaitable[list[str]]],
) -> dict[str, Look]:
    """Return the handlers by path.

    Args:
        snapshot: Returns the cluster state as JSON.
        explain: Returns the last cycle's explanation of a job `namespace/name`; None for an unknown job.
        examine: Returns the examinations of the pods that a name means, with at most so many nodes in each table; None
            if there are none.
        audit: Returns the differences between the cluster state and a rebuild.
    """

    async def show_snapshot(_: web.Request) -> web.Response:
        return web.Response(body=await snapshot(), content_type="application/json")

    async def show_audit(_: web.Request) -> web.Response:
        return web.Response(text=json.dumps({"differences": await audit()}) + "\n", content_type="application/json")

    async def show_examined(request: web.Request) -> web.Response:
        pod, limit = request.query["pod"], request.query.get("nodes", str(DEFAULT_NODES))
        if not (_FEW_DIGITS.fullmatch(limit) and 1 <= int(limit) <= MOST_NODES):
            return web.Response(status=400, text=f"nodes: got {shortened(limit)!r}, expected 1 to {MOST_NODES}\n")
        try:
            found = await examine(pod, int(limit))
        except BusyError:
            return web.Response(status=503, text="other examinations are waiting; try again\n")
        if found is None:
            return web.Response(status=404, text=f"pod {pod!r} was not in the last cycle; ask for namespace/name\n")
        return web.Response(text=json.dumps(found, indent=1) + "\n", content_type="application/json")

    async def show_explained(request: web.Request) -> web.Response:
        if "pod" in request.query:
            return await show_examined(request)
        job = request.query.get("job", "")
        explained = explain(job)
        if explained is None:
            return web.Response(status=404, text=f"job {job!r} was not in the last cycle; ask for namespace/name\n")
        return web.Response(text=json.dumps(explained, indent=1) + "\n", content_type="application/json")

    return {"/debug/snapshot": show_snapshot, "/debug/explain": show_explained, "/debug/audit": show_audit}
