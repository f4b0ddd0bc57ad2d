"""Client: one exchange with an extender, bounded in time and size.

One pool of connections for all of them. No retries, no redirects, no credentials, no proxies; addresses with https are
checked against the system's certificates.
"""

import asyncio
from typing import Final

import aiohttp

from pyroclast.framework.extension.outside import Question
from pyroclast.kube.read_limited import TooLargeError, read_at_most

__all__ = ["ExtenderClient", "NoReplyError"]

_MOST_BYTES: Final = 10 << 20
_OK: Final = 200
_SHOWN: Final = 200
"""Characters of an error that are told."""
_HEADERS: Final = {"Content-Type": "application/json", "Accept-Encoding": "identity"}


class NoReplyError(Exception):
    """There is no reply, or none that can be used; the text is put behind what was asked."""


class ExtenderClient:
    """Asks extenders; everything happens on the loop's thread."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def post(self, question: Question) -> bytes:
        """Send a question and return the body of the answer; empty where it is not wanted.

        Raises:
            NoReplyError: There is none, whatever the reason.
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
            # The time is kept around the whole exchange, and what would be unpacked could be of any size.
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
    """Return what an error says; it may quote what the other side sent, however much that was."""
    return " ".join(str(error).split())[:_SHOWN] or type(error).__name__
