"""Discovery: whether a server has a kind, or a subresource of it."""

from typing import Any

from pyroclast.kube.api.client import Client
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import Resource

__all__ = ["Discovery"]


class Discovery:
    """Kinds of a server; answers are cached for a while, because kinds come and go with their definitions."""

    def __init__(self, client: Client, *, clock: Clock | None = None, keep_seconds: float = 60.0) -> None:
        """Create a discovery that caches each answer for `keep_seconds`."""
        self._client = client
        self._clock = clock or SystemClock()
        self._keep_seconds = keep_seconds
        self._known: dict[str, tuple[float, frozenset[str]]] = {}

    async def has(self, resource: Resource[Any], subresource: str = "") -> bool:
        """Return whether the server has a kind, or a subresource of it such as `status` or `eviction`.

        Raises:
            ApiError: The server did not answer the question.
        """
        name = f"{resource.plural}/{subresource}" if subresource else resource.plural
        return name in await self._names(resource.root)

    async def _names(self, root: str) -> frozenset[str]:
        asked_at, names = self._known.get(root, (float("-inf"), frozenset()))
        now = self._clock.monotonic()
        if now - asked_at < self._keep_seconds:
            return names
        try:
            listed = await self._client.request_json("GET", root)
            names = frozenset(entry["name"] for entry in (listed or {}).get("resources") or ())
        except ApiError as error:
            if not error.is_not_found:
                raise
            names = frozenset()
        self._known[root] = (now, names)
        return names
