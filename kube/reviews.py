"""Reviews: who a caller is and what it may read, as the API server sees it.

For endpoints of our own that are not everybody's business. A token goes to the API server as a `TokenReview`, and its
owner with the path as a `SubjectAccessReview`; answers are kept for a moment, since a scraper asks the same each time.
"""

import enum
from collections import OrderedDict
from hashlib import sha256
from typing import Any, Final

from pyroclast.kube.client import Client
from pyroclast.kube.clock import Clock, SystemClock

__all__ = ["Access", "Reviews"]

_TOKENS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESSES: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_MOST_KEPT: Final = 1024
"""Answers kept at most: strangers with many tokens must not fill the memory."""


class Access(enum.Enum):
    """What a caller is told."""

    GRANTED = 200
    UNKNOWN = 401
    """Nobody that the API server knows."""
    FORBIDDEN = 403
    """Somebody who may not."""


class Reviews:
    """Asks the API server about callers."""

    def __init__(self, client: Client, *, clock: Clock | None = None, keep_seconds: float = 60.0) -> None:
        """Ask through `client`; believe an answer for `keep_seconds`."""
        self._client = client
        self._clock = clock or SystemClock()
        self._keep_seconds = keep_seconds
        self._known: OrderedDict[tuple[bytes, str], tuple[float, Access]] = OrderedDict()
        """By digest of the token, since a token itself has no business in our memory, and path."""

    async def judge(self, token: str, path: str) -> Access:
        """Tell whether the owner of a token may get a path.

        Raises:
            ApiError: The API server could not say.
        """
        key = (sha256(token.encode()).digest(), path)
        now = self._clock.monotonic()
        if key in self._known and now - self._known[key][0] < self._keep_seconds:
            return self._known[key][1]
        access = await self._ask(token, path)
        self._known[key] = (now, access)
        self._known.move_to_end(key)
        while len(self._known) > _MOST_KEPT:
            self._known.popitem(last=False)
        return access

    async def _ask(self, token: str, path: str) -> Access:
        if not token:
            return Access.UNKNOWN
        identity = await self._review("authentication.k8s.io/v1", "TokenReview", _TOKENS, {"token": token})
        user = identity.get("user")
        if not identity.get("authenticated") or not isinstance(user, dict):
            return Access.UNKNOWN
        known = {name: user[name] for name in ("uid", "groups", "extra") if user.get(name)}
        wish = {"user": user.get("username", ""), **known, "nonResourceAttributes": {"path": path, "verb": "get"}}
        answer = await self._review("authorization.k8s.io/v1", "SubjectAccessReview", _ACCESSES, wish)
        return Access.GRANTED if answer.get("allowed") is True else Access.FORBIDDEN

    async def _review(self, version: str, kind: str, path: str, spec: dict[str, Any]) -> dict[str, Any]:
        body = {"apiVersion": version, "kind": kind, "spec": spec}
        answer = await self._client.request_json("POST", path, body=body)
        status = answer.get("status") if isinstance(answer, dict) else None
        return status if isinstance(status, dict) else {}
