"""The short way of a plain request: read, answered and written in one step, without a task or a stream.

aiohttp serves everything. But of 190 µs that a bind cost with it, 130 went into its request, response and stream
objects. So a connection first looks whether a whole request has arrived while it is idle; if the server can answer
that at once it does, and everything else (watches, faults, documents, broken or streamed requests) takes aiohttp's
way, untouched.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from pyroclast.emulator.api.replies import Reply

__all__ = ["FastServer", "Quick"]

Quick = Callable[[str, str, Mapping[str, str], bytes], Reply | None]
"""Method, target, headers (lower case) and body in; an answer out, or None for the long way."""

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
LONG_WAY = frozenset({"transfer-encoding", "expect", "upgrade"})
"""Headers of requests that are left to aiohttp."""
LARGEST_REQUEST_BYTES = 4 * 2**20
PHRASES = {status.value: status.phrase for status in HTTPStatus}


class Connection(RequestHandler):
    """One connection. States: short (whole requests are looked at here) or ordinary (for good, once in doubt)."""

    def __init__(self, *words: Any, quick: Quick, **more: Any) -> None:
        super().__init__(*words, **more)
        self._quick = quick
        self._held = b""
        self._is_ordinary = False

    def data_received(self, data: bytes) -> None:
        """Answer a whole request at once, or hand over."""
        waiter = self._waiter
        if self._is_ordinary or waiter is None or waiter.done() or self._messages:
            super().data_received(data)
            return
        if self._held:
            data, self._held = self._held + data, b""
        end = data.find(b"\r\n\r\n")
        if end < 0 and len(data) < LARGEST_REQUEST_BYTES:
            self._held = data
            return
        head = read_head(data[:end]) if end >= 0 else None
        if head is None:
            self._go_ordinary(data)
            return
        method, target, headers = head
        size = end + 4 + int(headers.get("content-length", "0"))
        if len(data) < size <= LARGEST_REQUEST_BYTES:
            self._held = data
        elif len(data) != size:
            self._go_ordinary(data)
        else:
            reply = self._quick(method, target, headers, data[end + 4 :])
            if reply is None:
                super().data_received(data)
            else:
                self._write(reply)

    def _go_ordinary(self, data: bytes) -> None:
        """Leave this connection to aiohttp from here on: the borders between its requests are no longer known."""
        self._is_ordinary = True
        super().data_received(data)

    def _write(self, reply: Reply) -> None:
        if self.transport is not None:
            self.transport.write(encode_reply(reply))


class FastServer(web.Server):
    """aiohttp's low-level server, whose connections know the short way."""

    def __init__(self, *words: Any, quick: Quick, **more: Any) -> None:
        super().__init__(*words, **more)
        self._quick = quick

    def __call__(self) -> RequestHandler:
        """Make the protocol of a new connection."""
        return Connection(self, loop=self._loop, quick=self._quick, **self._kwargs)


def read_head(head: bytes) -> tuple[str, str, dict[str, str]] | None:
    """Return method, target and headers; None for a request that aiohttp must handle."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or words[0] not in METHODS or words[2] != "HTTP/1.1":
        return None
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    if not LONG_WAY.isdisjoint(headers) or headers.get("connection", "keep-alive").lower() != "keep-alive":
        return None
    if not headers.get("content-length", "0").isdigit():
        return None
    return words[0], words[1], headers


def encode_reply(reply: Reply) -> bytes:
    """An answer as it goes onto the wire."""
    more = "".join(f"{name}: {value}\r\n" for name, value in reply.headers())
    head = f"HTTP/1.1 {reply.code} {PHRASES.get(reply.code, '')}\r\n{more}Content-Length: {len(reply.body)}\r\n\r\n"
    return head.encode("latin-1", "replace") + reply.body
