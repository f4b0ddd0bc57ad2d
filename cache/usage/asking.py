"""Asking over HTTP: one request, one JSON answer of bounded size."""

import base64
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import aiohttp
import msgspec

from pyroclast.cache.usage.source import SourceError
from pyroclast.kube.read_limited import TooLargeError, read_at_most
from pyroclast.model.usage import UsageSource

__all__ = ["ask"]

_MOST_BYTES: Final = 64 << 20
"""Answers beyond this are not measurements of one cluster."""
_SHOWN: Final = 200
"""Characters of a refusal that are told."""
_OK: Final = 200
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

Answer = TypeVar("Answer")


async def ask(
    source: UsageSource,
    path: str,
    *,
    decoder: msgspec.json.Decoder[Answer],
    query: Mapping[str, str] | None = None,
    body: Any = None,
) -> Answer:
    """Send a request, a POST where it has a body, and decode its answer.

    Redirects are not followed: credentials and queries go to the configured address alone.

    Raises:
        SourceError: There is no answer, it is a refusal or a redirect, or it does not decode.
    """
    connector = aiohttp.TCPConnector(ssl=not source.is_insecure)
    try:
        async with (
            aiohttp.ClientSession(connector=connector, headers=_credentials(source)) as session,
            session.request(
                "GET" if body is None else "POST",
                f"{source.address}{path}",
                params=query,
                json=body,
                allow_redirects=False,
            ) as reply,
        ):
            content = await read_at_most(reply, _MOST_BYTES)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise SourceError(f"no answer: {error}") from error
    except TooLargeError as error:
        raise SourceError(str(error)) from error
    if reply.status in _REDIRECTS:
        target = reply.headers.get("Location", "")[:_SHOWN]
        raise SourceError(f"redirected to {target!r}, which is not followed: name that address if it is the right one")
    if reply.status != _OK:
        raise SourceError(f"refused: {reply.status} {content[:_SHOWN].decode(errors='replace')}")
    try:
        return decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(f"an answer that is no measurement: {error}") from error


def _credentials(source: UsageSource) -> dict[str, str]:
    if not source.username:
        return {}
    pair = f"{source.username}:{source.password.reveal()}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
