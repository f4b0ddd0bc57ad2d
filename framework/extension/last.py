"""Last: a sort key that is greater than every other key."""

from typing import Final

__all__ = ["LAST"]


class _Last:
    """Greater than anything but itself; for what could not be ranked."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return other is not self


LAST: Final = _Last()
