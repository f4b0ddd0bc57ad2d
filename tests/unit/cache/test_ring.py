"""The hash ring over scheduler names."""

import json
from bisect import bisect_right
from pathlib import Path
from zlib import crc32

import pytest

from pyroclast.cache.sync.ring import HashRing, Ownership, owner_key
from pyroclast.model import wire

MEMBERS = ("volcano-0", "volcano-1", "volcano-2")


VECTORS = json.loads(Path(__file__).with_name("ring_vectors.json").read_bytes())
KEYS = (*VECTORS["odd"], *(f"node-{number}" for number in range(300)))


@pytest.mark.parametrize("ring", VECTORS["owners"])
def test_every_key_has_the_same_owner_as_in_volcano(ring: str) -> None:
    """In a ring of both schedulers each node has exactly one owner."""
    base, size = ring.split()
    members = tuple(f"{base}-{number}" for number in range(int(size)))

    owners = [HashRing(members).owner(key).removeprefix(f"{base}-") for key in KEYS]

    assert owners == VECTORS["owners"][ring].split()


def test_a_key_belongs_to_the_first_point_after_it() -> None:
    """Each member has twenty points, the CRC-32 of `<i><member>`. The next point is strictly greater."""
    points = sorted((crc32(f"{number}{member}".encode()), member) for member in MEMBERS for number in range(20))
    ring = HashRing(MEMBERS)

    for key in ("job", "node-17", "a", "zz"):
        after = [member for point, member in points if point > crc32(key.encode())]
        assert ring.owner(key) == (after[0] if after else points[0][1])


def test_a_key_after_the_last_point_belongs_to_the_first_point() -> None:
    """The ring has no end."""
    points = sorted((crc32(f"{number}{member}".encode()), member) for member in MEMBERS for number in range(20))
    last = points[-1][0]
    key = next(f"k{number}" for number in range(10**6) if crc32(f"k{number}".encode()) > last)

    assert HashRing(MEMBERS).owner(key) == points[0][1]


def test_a_key_on_a_point_belongs_to_the_next_point() -> None:
    """The text of a point hashes to the point itself."""
    points = sorted((crc32(f"{number}{member}".encode()), member) for member in MEMBERS for number in range(20))
    position = bisect_right(points, (crc32(b"7volcano-1"), "~"))

    assert HashRing(MEMBERS).owner("7volcano-1") == points[position % len(points)][1]


def test_every_member_owns_a_fair_part() -> None:
    """Twenty points are coarse, but each member has some keys."""
    owners = [HashRing(MEMBERS).owner(f"pod-{number}") for number in range(3000)]

    assert min(owners.count(member) for member in MEMBERS) > 300


def test_the_ring_is_derived_from_the_pod_name() -> None:
    """The pod `volcano-1` of three has the members 0 to 2 of the same base name."""
    assert Ownership.of_pod("volcano-1", 3) == Ownership(HashRing(MEMBERS), "volcano-1")


def test_a_pod_name_without_an_ordinal_is_refused() -> None:
    """The names of the other members cannot be derived from it."""
    with pytest.raises(ValueError, match="ordinal"):
        Ownership.of_pod("volcano", 3)


def test_the_key_is_the_first_owner_or_the_name() -> None:
    """Objects of one owner have the same key."""
    owned = wire.ObjectMeta(name="p", owner_references=(wire.OwnerReference(name="job"), wire.OwnerReference(name="x")))

    assert (owner_key(owned), owner_key(wire.ObjectMeta(name="p"))) == ("job", "p")
