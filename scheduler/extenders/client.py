"""Client: one request to an extender, limited in time and size.

All requests share one connection pool. There are no retries, redirects, credentials or proxies. HTTPS servers are
verified with the system's certificates.
"""

import asyncio
from typing import Final

import aiohttp

from pyroclast.framework.extension.outside import Question
from pyroclast.kube.api.read_limited import TooLargeError, read_at_most

__all__ = ["ExtenderClient", "NoReplyError"]

_MOST_BYTES: Final = 10 << 20
_OK: Final = 200
_SHOWN: Final = 200
"""Maximum length of an error in a message."""
_HEADERS: Final = {"Content-Type": "application/json", "Accept-Encoding": "identity"}


class NoReplyError(Exception):
    """There is no usable reply. The text is appended to the description of the request."""


class ExtenderClient:
    """Sends requests to extenders. All calls happen on the loop's thread."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def post(self, question: Question) -> bytes:
        """Send a request and return the body of the reply; empty if no reply is needed.

        Raises:
            NoReplyError: There is no usable reply.
        """
        try:
            async with asyncio.timeout(question.timeout_seconds):
                return await self._exchange(question)
        except TimeoutError:
            raise NoReplyError(f": no answer within {question.timeout_seconds:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NoReplyError(f": no answer: {_in_a_line(error)}") from error
        except TooLargeError as error:
            raise NoReplyError(f": {error}") from error

    async def _exchange(self, question: Question) -> bytes:
        async with self._pool().post(
            question.url, data=question.body, headers=_HEADERS, allow_redirects=False
        ) as reply:
            if reply.status != _OK:
                raise NoReplyError(f", code {reply.status}")
            return await read_at_most(reply, _MOST_BYTES) if question.wants_answer else b""

    def _pool(self) -> aiohttp.ClientSession:
        if self._session is None:
            # The timeout covers the whole request. Decompression is off, because its output could have any size.
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=None), auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _in_a_line(error: Exception) -> str:
    """Return the text of an error in one line. It may quote a reply, so its length is limited."""
    return " ".join(str(error).split())[:_SHOWN] or type(error).__name__
