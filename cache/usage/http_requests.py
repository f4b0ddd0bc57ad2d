"""HTTP requests to monitoring systems: one request, and one JSON answer of limited size."""

import base64
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import aiohttp
import msgspec

from pyroclast.cache.usage.source import SourceError
from pyroclast.kube.api.read_limited import TooLargeError, read_at_most
from pyroclast.model.usage import UsageSource

__all__ = ["ask"]

_MOST_BYTES: Final = 64 << 20
"""Largest size of an answer; the measurements of one cluster are smaller."""
_SHOWN: Final = 200
"""Number of characters of an answer in an error message."""
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
    """Send a GET request, or a POST request if there is a body, and decode the answer.

    Redirects are not followed, so that credentials and queries reach only the configured address.

    Raises:
        SourceError: There is no answer, or the answer is an error, a redirect or not decodable.
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
        raise SourceError(
            f"redirected to {target!r}; redirects are not followed, configure that address instead if it is right"
        )
    if reply.status != _OK:
        raise SourceError(f"refused: {reply.status} {content[:_SHOWN].decode(errors='replace')}")
    try:
        return decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(f"the answer is not a measurement: {error}") from error


def _credentials(source: UsageSource) -> dict[str, str]:
    if not source.username:
        return {}
    pair = f"{source.username}:{source.password.reveal()}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
