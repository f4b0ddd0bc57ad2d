"""An HTTP server of tests that answers as configured, byte by byte if needed."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from pyroclast.framework.extension.outside import Question

__all__ = ["looping", "question", "reply", "serving"]

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def reply(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """Write a whole answer."""
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers])
    return head.encode() + b"\r\n\r\n" + body


def question(url: str, *, seconds: float = 30.0, body: bytes = b"{}", wants_answer: bool = True) -> Question:
    """Ask something."""
    return Question(url=url, body=body, timeout_seconds=seconds, wants_answer=wants_answer)


@asynccontextmanager
async def serving(handler: Handler | bytes) -> AsyncIterator[str]:
    """Serve on a free port, for the length of a block; gives the address."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if isinstance(handler, bytes):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(handler)
                await writer.drain()
            else:
                await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/verb"
    finally:
        server.close()


@contextmanager
def looping() -> Iterator[asyncio.AbstractEventLoop]:
    """Run a loop in a thread, for the length of a block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
