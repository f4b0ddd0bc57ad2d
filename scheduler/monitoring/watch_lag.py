"""How long watches have brought nothing."""

from dataclasses import dataclass, field

__all__ = ["WatchLag"]


@dataclass(slots=True)
class WatchLag:
    """Of each kind, when its watch last stood elsewhere.

    A kind that the server never had brings nothing, and nobody waits for it; one that it has no more does count.
    """

    _stood_at: dict[str, tuple[str | None, float]] = field(default_factory=dict)
    """By kind: the version, None where there was none yet, and since when."""

    def seconds(self, kind: str, version: str, now: float, *, is_synced: bool) -> float:
        """Note where a watch stands now; return for how long it has stood there.

        Args:
            kind: What is watched.
            version: Where it stands; empty: nowhere.
            now: The time, by a clock that cannot jump.
            is_synced: The first list is there, or the server has said that it lacks the kind.
        """
        known, since = self._stood_at.get(kind, (None, now))
        if known is None and not version:
            since = now if is_synced else since
        elif known != version:
            known, since = version, now
        self._stood_at[kind] = (known, since)
        return now - since
