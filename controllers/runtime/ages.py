"""Ages: time since an event, independent of later changes of the wall clock.

Objects record the wall-clock time of events. Therefore the wall clock is read once for each event. From then on the
monotonic clock counts. A change of the wall clock makes no step early or late.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from pyroclast.kube.api.clock import Clock

__all__ = ["Ages"]

K = TypeVar("K", bound=Hashable)


class Ages(Generic[K]):
    """Ages of events. `forget` drops an event."""

    def __init__(self, clock: Clock) -> None:
        """Use `clock` for all ages."""
        self._clock = clock
        self._since: dict[K, tuple[float, float]] = {}
        """Recorded time of each event, and its time on the monotonic clock."""

    def age(self, thing: K, at: float) -> float:
        """Return the seconds since an event, never less than 0.

        Args:
            thing: Event.
            at: Time of the event, in seconds since 1970. A different time counts as a new event.
        """
        now = self._clock.monotonic()
        said, since = self._since.get(thing, (None, now))
        if said != at:
            since = now - max(0.0, self._clock.wall() - at)
            self._since[thing] = at, since
        return now - since

    def forget(self, thing: K) -> None:
        """Drop an event."""
        self._since.pop(thing, None)
