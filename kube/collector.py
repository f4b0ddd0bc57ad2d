"""The garbage collector, disabled during bulk work.

Decoding thousands of objects triggers full collections that find nothing, because wire structs cannot form cycles. With
the collector off, lists are two to four times faster. Several lists and a cycle may overlap, in more than one thread:
the collector is off while at least one of them runs.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["collector_off", "settle"]


_NEVER: Final = 2**31 - 1
"""Collections of the middle generation before a full one."""


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


def settle(*, has_own_full_collections: bool = False) -> None:
    """Collect once, then exempt the remaining objects from later collections; call it after all lists are complete.

    Args:
        has_own_full_collections: Whether the caller makes full collections at good moments. The collector makes none by
            itself then: it would make them in the middle of the work, 0.2 s each with some ten thousand newer pods.
    """
    gc.collect()
    gc.freeze()
    if has_own_full_collections:
        gc.set_threshold(*gc.get_threshold()[:2], _NEVER)
