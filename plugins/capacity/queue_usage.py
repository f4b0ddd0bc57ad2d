"""Queue usage: the amounts that capacity keeps for one queue and its descendants."""

from collections.abc import Iterable, Sequence

from pyroclast.model.ids import QueueName

__all__ = ["QueueUsage"]


class QueueUsage:
    """Amounts of one queue, base units by resource row; the rows are those of the session's resource space."""

    __slots__ = (
        "_share_rows",
        "allocated",
        "declared",
        "deserved",
        "elastic",
        "guarantee",
        "has_deserved",
        "inqueue",
        "limit",
        "name",
        "request",
        "reserved",
        "share",
    )

    def __init__(
        self,
        name: QueueName,
        *,
        allocated: Sequence[int],
        request: Sequence[int],
        elastic: Sequence[int],
        inqueue: Sequence[int],
        guarantee: Sequence[int],
        deserved: Sequence[int],
        limit: Sequence[int],
        declared: Iterable[int],
        pods_row: int,
    ) -> None:
        self.name = name
        self.allocated = list(allocated)
        """Requests of tasks in an allocated status, including placements of this session."""
        self.request = request
        """`allocated` at the session's start, plus requests of pending tasks."""
        self.elastic = elastic
        """Usage of jobs beyond their minimum resources."""
        self.inqueue = list(inqueue)
        """Minimum resources of enqueued jobs that they do not use yet."""
        self.guarantee = guarantee
        self.deserved = deserved
        """The amount that other queues cannot reclaim."""
        self.limit = limit
        """The limit of the queue (Volcano's realCapability)."""
        self.declared = frozenset(declared)
        """Rows in which usage above `deserved` makes tasks of the queue victims."""
        self.reserved = [0] * len(self.allocated)
        """Requests of tasks whose scheduling gate was removed and that are not placed yet."""
        self.has_deserved = any(amount > 0 for row, amount in enumerate(deserved) if row != pods_row)
        self._share_rows = [(row, amount) for row, amount in enumerate(deserved) if amount > 0]
        self.share = 0.0
        self.refresh_share()

    def refresh_share(self) -> None:
        """Set the share: the largest ratio of allocated to deserved; 1 if nothing is deserved."""
        allocated = self.allocated
        self.share = max(allocated[row] / amount for row, amount in self._share_rows) if self.has_deserved else 1.0

    def add(self, amounts: Sequence[int], sign: int) -> None:
        """Count a placement (+1) or an eviction (-1)."""
        allocated = self.allocated
        for row, amount in enumerate(amounts):
            if amount:
                allocated[row] += sign * amount

    def short_rows(self, request: Sequence[int], rows: Sequence[int]) -> list[int]:
        """Return the rows among `rows` in which `request` exceeds the limit."""
        return [row for row in rows if request[row] > 0 and self.allocated[row] + request[row] > self.limit[row]]

    def short_to_place(self, request: Sequence[int], rows: Sequence[int], *, is_reserved: bool) -> list[int]:
        """Return the same in addition to reserved amounts; `is_reserved` means that `request` is one of them."""
        own = 0 if is_reserved else 1
        return [
            row
            for row in rows
            if request[row] > 0 and self.allocated[row] + self.reserved[row] + own * request[row] > self.limit[row]
        ]

    def reserve(self, request: Sequence[int], sign: int) -> None:
        """Reserve the request of a task (+1), or release it (-1)."""
        for row, amount in enumerate(request):
            self.reserved[row] += sign * amount

    def with_minimum(self, minimum: Sequence[int]) -> list[int]:
        """Return the usage by row with a job's minimum, in addition to reserved amounts."""
        return [
            amount + self.allocated[row] + self.inqueue[row] - self.elastic[row] for row, amount in enumerate(minimum)
        ]

    def short_to_enqueue(self, minimum: Sequence[int], rows: Sequence[int]) -> list[int]:
        """Return the rows among `rows` in which a job's minimum does not fit beside used and reserved amounts."""
        would = self.with_minimum(minimum)
        return [row for row in rows if minimum[row] > 0 and would[row] > self.limit[row]]

    def headroom(self, request: Sequence[int], rows: Sequence[int], most: int) -> int:
        """Return how often `request` still fits the queue, at most `most` times."""
        for row in rows:
            if request[row] > 0:
                most = min(most, (self.limit[row] - self.allocated[row] - self.reserved[row]) // request[row])
        return max(most, 0)

    def with_more(self, request: Sequence[int], *, beside_reserved: bool = False) -> list[int]:
        """Return the usage with `request`, and with reserved amounts if `beside_reserved`."""
        amounts = [used + amount for used, amount in zip(self.allocated, request, strict=True)]
        return [own + other for own, other in zip(amounts, self.reserved, strict=True)] if beside_reserved else amounts

    def over_deserved(self, request: Sequence[int], rows: Sequence[int]) -> list[int]:
        """Return the requested rows in which the queue exceeds its deserved amount with `request`."""
        return [row for row in rows if request[row] > 0 and self.allocated[row] + request[row] > self.deserved[row]]

    def deserves_some(self, request: Sequence[int], rows: Sequence[int]) -> bool:
        """Return whether the queue stays within its deserved amount with `request` in some requested row."""
        return any(request[row] > 0 and self.allocated[row] + request[row] <= self.deserved[row] for row in rows)
