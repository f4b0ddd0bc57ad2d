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
        """Requests of tasks in an allocated status, including placements of this session."""
        self.begun = tuple(allocated)
        """`allocated` at the session's start."""
        self.request = request
        """`allocated` at the session's start, plus requests of pending tasks."""
        self.limit = limit
        """Limit of the queue: its capability, reduced by guarantees of others."""
        self.elastic = elastic
        """Usage of jobs beyond their minimum resources."""
        self.inqueue = list(inqueue)
        """Minimum resources of enqueued jobs that they do not use yet."""
        self.reserved = [0] * len(self.allocated)
        """Requests of tasks whose scheduling gate was removed and that are not placed yet."""
        self.deserved: list[Fraction] = []
        self.floor: list[int] = []
        """`deserved`, rounded down: the limit of allocations."""
        self.ceiling: list[int] = []
        """`deserved`, rounded up: the queue is overused if it has all of it."""
        self.share = 0.0
        self._share_rows: list[tuple[int, int, int]] = []

    def settle(self, deserved: list[Fraction]) -> None:
        """Set the deserved amounts."""
        self.deserved = deserved
        self.floor = [math.floor(amount) for amount in deserved]
        self.ceiling = [math.ceil(amount) for amount in deserved]
        self._share_rows = [
            (row, amount.numerator, amount.denominator) for row, amount in enumerate(deserved) if amount > 0
        ]
        self.refresh_share()

    def refresh_share(self) -> None:
        """Set the share: the largest ratio of allocated to deserved, correctly rounded."""
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
        """Whether all deserved amounts are allocated."""
        return all(amount <= used for amount, used in zip(self.ceiling, self.allocated, strict=True))

    def reserve(self, request: Sequence[int], sign: int) -> None:
        """Reserve the request of a task (+1), or release it (-1)."""
        for row, amount in enumerate(request):
            self.reserved[row] += sign * amount

    def with_more(self, request: Sequence[int]) -> list[int]:
        """Return the usage with `request` and reserved amounts."""
        return [sum(amounts) for amounts in zip(self.allocated, self.reserved, request, strict=True)]

    def headroom(self, request: Sequence[int], rows: Sequence[int], most: int) -> int:
        """Return how often `request` still fits the queue, at most `most` times."""
        for row in rows:
            if request[row] > 0:
                most = min(most, (self.floor[row] - self.allocated[row] - self.reserved[row]) // request[row])
        return max(most, 0)
