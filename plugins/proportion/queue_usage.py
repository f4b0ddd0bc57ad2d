"""Queue usage: the amounts that proportion keeps for one queue."""

import math
from collections.abc import Sequence
from fractions import Fraction

__all__ = ["QueueUsage"]


class QueueUsage:
    """Amounts of one queue, base units by resource row; the rows are those of the session's resource space."""

    __slots__ = (
        "_share_rows",
        "allocated",
        "begun",
        "ceiling",
        "deserved",
        "elastic",
        "floor",
        "inqueue",
        "limit",
        "request",
        "reserved",
        "share",
    )

    def __init__(
        self,
        *,
        allocated: Sequence[int],
        request: Sequence[int],
        limit: Sequence[int],
        elastic: Sequence[int],
        inqueue: Sequence[int],
    ) -> None:
        self.allocated = list(allocated)
        """Requests of tasks in an allocated status, and of what this session placed."""
        self.begun = tuple(allocated)
        """`allocated` as the session began."""
        self.request = request
        """`allocated` as the session began, and requests of pending tasks."""
        self.limit = limit
        """Most that the queue may have: its capability, and what guarantees of others leave."""
        self.elastic = elastic
        """What jobs use beyond their minimum resources."""
        self.inqueue = list(inqueue)
        """Minimum resources of admitted jobs that do not use them yet."""
        self.reserved = [0] * len(self.allocated)
        """Requests of tasks whose scheduling gate the queue has taken off and that have no place yet."""
        self.deserved: list[Fraction] = []
        self.floor: list[int] = []
        """`deserved`, rounded down: what may be allocated at most."""
        self.ceiling: list[int] = []
        """`deserved`, rounded up: what is allocated at least when the queue has had enough."""
        self.share = 0.0
        self._share_rows: list[tuple[int, int, int]] = []

    def settle(self, deserved: list[Fraction]) -> None:
        """Set what the queue deserves."""
        self.deserved = deserved
        self.floor = [math.floor(amount) for amount in deserved]
        self.ceiling = [math.ceil(amount) for amount in deserved]
        self._share_rows = [
            (row, amount.numerator, amount.denominator) for row, amount in enumerate(deserved) if amount > 0
        ]
        self.refresh_share()

    def refresh_share(self) -> None:
        """Set the share: the largest part of what is deserved that is allocated, correctly rounded."""
        allocated = self.allocated
        self.share = max(
            (allocated[row] * denominator / numerator for row, numerator, denominator in self._share_rows), default=0.0
        )

    def add(self, amounts: Sequence[int], sign: int) -> None:
        """Count a placement (+1) or an eviction (-1)."""
        allocated = self.allocated
        for row, amount in enumerate(amounts):
            if amount:
                allocated[row] += sign * amount
        self.refresh_share()

    @property
    def is_overused(self) -> bool:
        """Whether all that is deserved is allocated."""
        return all(amount <= used for amount, used in zip(self.ceiling, self.allocated, strict=True))

    def reserve(self, request: Sequence[int], sign: int) -> None:
        """Reserve room for a task (+1), or give it back (-1)."""
        for row, amount in enumerate(request):
            self.reserved[row] += sign * amount

    def with_more(self, request: Sequence[int]) -> list[int]:
        """Return what the queue would have with `request` more, counting what is reserved."""
        return [sum(amounts) for amounts in zip(self.allocated, self.reserved, request, strict=True)]

    def headroom(self, request: Sequence[int], rows: Sequence[int], most: int) -> int:
        """Count how many times `request` the queue may still take, at most `most`."""
        for row in rows:
            if request[row] > 0:
                most = min(most, (self.floor[row] - self.allocated[row] - self.reserved[row]) // request[row])
        return max(most, 0)
