"""Reviews: the identity and the permissions of a caller, by the API server.

They protect endpoints of our own. A token is sent to the API server as a `TokenReview`, and its owner with the path as
a
`SubjectAccessReview`. Answers are cached for a short time, because a scraper sends the same token each time.
"""

import enum
from collections import OrderedDict
from hashlib import sha256
from typing import Any, Final

from pyroclast.kube.api.client import Client
from pyroclast.kube.api.clock import Clock, SystemClock

__all__ = ["Access", "Reviews"]

_TOKENS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESSES: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_MOST_KEPT: Final = 1024
"""Maximum number of cached answers: callers with many tokens must not fill the memory."""


class Access(enum.Enum):
    """Result of a review."""

    GRANTED = 200
    UNKNOWN = 401
    """The API server does not know the caller."""
    FORBIDDEN = 403
    """The caller has no permission."""


class Reviews:
    """Reviews callers by the API server."""

    def __init__(self, client: Client, *, clock: Clock | None = None, keep_seconds: float = 60.0) -> None:
        """Create reviews through `client`; each answer is cached for `keep_seconds`."""
        self._client = client
        self._clock = clock or SystemClock()
        self._keep_seconds = keep_seconds
        self._known: OrderedDict[tuple[bytes, str, str], tuple[float, Access]] = OrderedDict()
        """Cached answers by digest of the token, so that tokens are not kept in memory, path and verb."""

    async def judge(self, token: str, path: str, verb: str = "get") -> Access:
        """Return whether the owner of a token may use a path with a verb, an HTTP method in lower case.

        Raises:
            ApiError: The API server did not answer the question.
        """
        key = (sha256(token.encode()).digest(), path, verb)
        now = self._clock.monotonic()
        if key in self._known and now - self._known[key][0] < self._keep_seconds:
            return self._known[key][1]
        access = await self._ask(token, path, verb)
        self._known[key] = (now, access)
        self._known.move_to_end(key)
        while len(self._known) > _MOST_KEPT:
            self._known.popitem(last=False)
        return access

    async def _ask(self, token: str, path: str, verb: str) -> Access:
        if not token:
            return Access.UNKNOWN
        identity = await self._review("authentication.k8s.io/v1", "TokenReview", _TOKENS, {"token": token})
        user = identity.get("user")
        if not identity.get("authenticated") or not isinstance(user, dict):
            return Access.UNKNOWN
        known = {name: user[name] for name in ("uid", "groups", "extra") if user.get(name)}
        spec = {"user": user.get("username", ""), **known, "nonResourceAttributes": {"path": path, "verb": verb}}
        answer = await self._review("authorization.k8s.io/v1", "SubjectAccessReview", _ACCESSES, spec)
        return Access.GRANTED if answer.get("allowed") is True else Access.FORBIDDEN

    async def _review(self, version: str, kind: str, path: str, spec: dict[str, Any]) -> dict[str, Any]:
        body = {"apiVersion": version, "kind": kind, "spec": spec}
        answer = await self._client.request_json("POST", path, body=body)
        status = answer.get("status") if isinstance(answer, dict) else None
        return status if isinstance(status, dict) else {}
