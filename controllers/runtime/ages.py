"""Ages: how long ago something happened, whatever the wall clock has done since we first saw it.

Objects say when things happened by the time of day, so that is asked once for each thing. From then on the clock that
never jumps counts: what is due is not done early because the time of day was set forwards, nor late because it was set
back.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from pyroclast.kube.clock import Clock

__all__ = ["Ages"]

K = TypeVar("K", bound=Hashable)


class Ages(Generic[K]):
    """Ages of events. `forget` drops an event."""

    def __init__(self, clock: Clock) -> None:
        """Use this clock."""
        self._clock = clock
        self._since: dict[K, tuple[float, float]] = {}
        """When a thing happened: as it is said, and on the clock that never jumps."""

    def age(self, thing: K, at: float) -> float:
        """Return the seconds since an event, never less than 0.

        Args:
            thing: What happened.
            at: When, in seconds since 1970; another moment is another happening.
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
