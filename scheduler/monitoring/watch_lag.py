"""Watch lag: time since a watch last delivered anything."""

from dataclasses import dataclass, field

__all__ = ["WatchLag"]


@dataclass(slots=True)
class WatchLag:
    """When the resource version of each kind's watch last changed.

    A kind that the server never had has no lag. A kind that the server has lost does have one.
    """

    _last_change: dict[str, tuple[str | None, float]] = field(default_factory=dict)
    """Per kind: the last version, None before the first one, and the time of the change."""

    def seconds(self, kind: str, version: str, now: float, *, is_synced: bool) -> float:
        """Record the current version of a watch. Return the seconds since it last changed.

        Args:
            kind: The kind of the watch.
            version: Its resource version; empty before the first list.
            now: Time of a monotonic clock.
            is_synced: Whether the first list is complete, or the server lacks the kind.
        """
        known, since = self._last_change.get(kind, (None, now))
        if known is None and not version:
            since = now if is_synced else since
        elif known != version:
            known, since = version, now
        self._last_change[kind] = (known, since)
        return now - since
