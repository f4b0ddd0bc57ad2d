"""Ports for servers that cannot choose one themselves: each is given once, whoever else runs tests on the machine."""

import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO

__all__ = ["free_ports"]

PORTS = range(16_000, 32_000)
"""Below those that the kernel gives to whoever connects, which would be taken between our look and the server's."""

_locks: list[IO[bytes]] = []
"""One by port that was given: it lasts as long as this process."""


def free_ports(count: int) -> list[int]:
    """Return distinct ports of the loopback that nobody listens on, and that nobody else is given."""
    return [next(_ports()) for _ in range(count)]


@cache
def _ports() -> Iterator[int]:
    """Begin somewhere, so that processes which begin together seldom try the same."""
    begin = random.SystemRandom().randrange(len(PORTS))
    return (port for port in (*PORTS[begin:], *PORTS[:begin]) if _is_locked(port) and _is_free(port))


def _is_locked(port: int) -> bool:
    """Lock a port against other processes; tell whether none of them has it."""
    folder = Path(tempfile.gettempdir()) / f"pyroclast-test-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    file = (folder / str(port)).open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return False
    _locks.append(file)
    return True


def _is_free(port: int) -> bool:
    """Return whether nobody listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
