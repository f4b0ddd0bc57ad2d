"""Ports for servers that cannot choose one themselves: each is used once, also beside other test runs."""

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
"""Below the ports that the kernel assigns to clients, which could be taken between the look and the server's start."""

_locks: list[IO[bytes]] = []
"""One by port that was given: it lasts as long as this process."""


def free_ports(count: int) -> list[int]:
    """Return distinct unused ports of the loopback, which no other test gets."""
    return [next(_ports()) for _ in range(count)]


@cache
def _ports() -> Iterator[int]:
    """Begin somewhere, so that processes which begin together seldom try the same."""
    begin = random.SystemRandom().randrange(len(PORTS))
    return (port for port in (*PORTS[begin:], *PORTS[:begin]) if _is_locked(port) and _is_free(port))


def _is_locked(port: int) -> bool:
    """Lock a port against other processes; return whether no other process has it."""
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
    """Return whether the port is closed."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
