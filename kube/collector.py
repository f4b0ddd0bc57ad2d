"""The garbage collector, disabled during bulk work.

Decoding thousands of objects triggers full collections that find nothing, because wire structs cannot form cycles. With
the collector off, lists are two to four times faster. Several lists and a cycle may overlap, in more than one thread:
the collector is off while at least one of them runs.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_off", "settle"]


class _Guard:
    """Counts the users that need the collector off; it is on again after the last one leaves."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.was_enabled = False

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                self.was_enabled = gc.isenabled()
                gc.disable()
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0 and self.was_enabled:
                gc.enable()


_guard = _Guard()


@contextmanager
def collector_off() -> Iterator[None]:
    """Disable the collector during the block."""
    _guard.enter()
    try:
        yield
    finally:
        _guard.leave()


def settle() -> None:
    """Collect once, then exempt the remaining objects from later collections; call it after all lists are complete."""
    gc.collect()
    gc.freeze()
