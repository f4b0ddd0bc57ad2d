"""Hash ring: assigns each object to one of several schedulers.

The ring is Volcano's (package `stathat.com/c/consistent` 1.0.0), so that Volcano's schedulers and ours agree. Each
member owns twenty points of the ring, the CRC-32 (IEEE) of `<i><member>`. A key belongs to the first point that is
strictly greater than its own CRC-32. After the last point comes the first. Schedulers with the same members agree.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from pyroclast.model import wire

__all__ = ["HashRing", "Ownership", "owner_key"]

POINTS_PER_MEMBER: Final = 20


@dataclass(frozen=True, slots=True)
class HashRing:
    """The members of a ring and their points."""

    members: tuple[str, ...]
    _points: tuple[int, ...] = field(init=False)
    _owners: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Compute the points."""
        owners: dict[int, str] = {}
        for member in self.members:
            for number in range(POINTS_PER_MEMBER):
                owners[crc32(f"{number}{member}".encode())] = member
        object.__setattr__(self, "_points", tuple(sorted(owners)))
        object.__setattr__(self, "_owners", tuple(owners[point] for point in self._points))

    def owner(self, key: str) -> str:
        """Return the member that owns `key`."""
        position = bisect_right(self._points, crc32(key.encode()))
        return self._owners[position % len(self._owners)]


@dataclass(frozen=True, slots=True)
class Ownership:
    """One scheduler's share of the objects."""

    ring: HashRing
    member: str

    @classmethod
    def of_pod(cls, pod_name: str, schedulers: int) -> "Ownership":
        """Derive the ring from this scheduler's pod name, `<base>-<ordinal>`, and the number of schedulers.

        Raises:
            ValueError: The name has no ordinal.
        """
        base, dash, _ = pod_name.rpartition("-")
        if not dash:
            raise ValueError(f"{pod_name!r} is not the name of a pod of a StatefulSet: it has no ordinal")
        return cls(HashRing(tuple(f"{base}-{number}" for number in range(schedulers))), pod_name)

    def owns(self, key: str) -> bool:
        """Return whether this scheduler owns `key`."""
        return self.ring.owner(key) == self.member


def owner_key(metadata: wire.ObjectMeta) -> str:
    """Return the ring key of a pod or group: the name of its first owner, so that one scheduler owns a whole gang."""
    return metadata.owner_references[0].name if metadata.owner_references else metadata.name
