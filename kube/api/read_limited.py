"""Limited reads: reads the body of a response up to a maximum size."""

import aiohttp

__all__ = ["TooLargeError", "read_at_most"]


class TooLargeError(Exception):
    """A body exceeds the maximum size."""


async def read_at_most(reply: aiohttp.ClientResponse, most_bytes: int) -> bytes:
    """Return the body of an answer.

    Raises:
        TooLargeError: The body is larger; at most one chunk beyond the limit was read.
    """
    content = bytearray()
    async for piece in reply.content.iter_any():
        content += piece
        if len(content) > most_bytes:
            raise TooLargeError(f"an answer of more than {most_bytes} bytes")
    return bytes(content)
