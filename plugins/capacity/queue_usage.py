"""Queue usage: the amounts that capacity keeps for one queue and its descendants."""

from collections.abc import Iterable, Sequence

from pyroclast.model.ids import QueueName

__all__ = ["QueueUsage"]


class QueueUsage:
    """Amounts of one queue, base units by resource row; the rows are those of the session's resource space."""

    __slots__ = (
        "_share_rows",
        "allocated",
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
        "spoken",
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
        spoken: Iterable[int],
        pods_row: int,
    ) -> None:
        self.name = name
        self.allocated = list(allocated)
        """Requests of tasks in an allocated status, and of what this session placed."""
        self.request = request
        """`allocated` as the session began, and requests of pending tasks."""
        self.elastic = elastic
        """What jobs use beyond their minimum resources."""
        self.inqueue = list(inqueue)
        """Minimum resources of admitted jobs that do not use them yet."""
        self.guarantee = guarantee
        self.deserved = deserved
        """What others may not take from the queue by reclaim."""
        self.limit = limit
        """Most that the queue may have (Volcano's realCapability)."""
        self.spoken = frozenset(spoken)
        """Rows in which having more than `deserved` makes victims."""
        self.reserved = [0] * len(self.allocated)
        """Requests of tasks whose scheduling gate the queue has taken off and that have no place yet."""
        self.has_deserved = any(amount > 0 for row, amount in enumerate(deserved) if row != pods_row)
        self._share_rows = [(row, amount) for row, amount in enumerate(deserved) if amount > 0]
        self.share = 0.0
        self.refresh_share()

    def refresh_share(self) -> None:
        """Set the share: the largest part of what is deserved that is allocated; 1 where nothing is deserved."""
        allocated = self.allocated
        self.share = max(allocated[row] / amount for row, amount in self._share_rows) if self.has_deserved else 1.0

    def add(self, amounts: Sequence[int], sign: int) -> None:
        """Count a placement (+1) or an eviction (-1)."""
        allocated = self.allocated
        for row, amount in enumerate(amounts):
            if amount:
                allocated[row] += sign * amount

    def short_rows(self, request: Sequence[int], rows: Sequence[int]) -> list[int]:
        """Return the rows among `rows` in which the queue may not take `request` more."""
        return [row for row in rows if request[row] > 0 and self.allocated[row] + request[row] > self.limit[row]]

    def short_to_place(self, request: Sequence[int], rows: Sequence[int], *, is_reserved: bool) -> list[int]:
        """The same beside what is reserved for others; `is_reserved` tells that `request` is part of that."""
        own = 0 if is_reserved else 1
        return [
            row
            for row in rows
            if request[row] > 0 and self.allocated[row] + self.reserved[row] + own * request[row] > self.limit[row]
        ]

    def reserve(self, request: Sequence[int], sign: int) -> None:
        """Reserve room for a task (+1), or give it back (-1)."""
        for row, amount in enumerate(request):
            self.reserved[row] += sign * amount

    def at_gate(self, minimum: Sequence[int]) -> list[int]:
        """Return what the queue would have with a job that passes its gate, beside what is reserved, by row."""
        return [
            amount + self.allocated[row] + self.inqueue[row] - self.elastic[row] for row, amount in enumerate(minimum)
        ]

    def short_at_gate(self, minimum: Sequence[int], rows: Sequence[int]) -> list[int]:
        """Return the rows among `rows` in which a job's minimum does not fit beside what is used and reserved."""
        would = self.at_gate(minimum)
        return [row for row in rows if minimum[row] > 0 and would[row] > self.limit[row]]

    def headroom(self, request: Sequence[int], rows: Sequence[int], most: int) -> int:
        """Count how many times `request` the queue may still take, at most `most`."""
        for row in rows:
            if request[row] > 0:
                most = min(most, (self.limit[row] - self.allocated[row] - self.reserved[row]) // request[row])
        return max(most, 0)

    def with_more(self, request: Sequence[int], *, beside_reserved: bool = False) -> list[int]:
        """Return what the queue would have with `request` more, counting what is reserved if so."""
        amounts = [used + amount for used, amount in zip(self.allocated, request, strict=True)]
        return [own + other for own, other in zip(amounts, self.reserved, strict=True)] if beside_reserved else amounts

    def over_deserved(self, request: Sequence[int], rows: Sequence[int]) -> list[int]:
        """Return the rows that are asked for in which with `request` the queue has more than it deserves."""
        return [row for row in rows if request[row] > 0 and self.allocated[row] + request[row] > self.deserved[row]]

    def deserves_some(self, request: Sequence[int], rows: Sequence[int]) -> bool:
        """Tell whether with `request` the queue has no more than it deserves in any row that is asked for."""
        return any(request[row] > 0 and self.allocated[row] + request[row] <= self.deserved[row] for row in rows)
