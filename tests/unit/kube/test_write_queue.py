"""Writes wait per object and take turns per namespace."""

from dataclasses import dataclass

from pyroclast.kube.writes.write_queue import WriteQueue


@dataclass(frozen=True)
class Named:
    """A write of one object; `turn` tells writes of the same object apart."""

    namespace: str
    key: str
    turn: int = 0


def names(queue: WriteQueue[Named], count: int) -> list[str]:
    """Take so many writes, and name their objects; `-` where none may be taken."""
    taken = [queue.take() for _ in range(count)]
    return ["-" if write is None else write.key for write in taken]


def seconds(delayed: tuple[float, int] | None) -> float:
    """Return how long a write is delayed."""
    assert delayed is not None
    return delayed[0]


def test_namespaces_take_turns() -> None:
    """A long queue in one namespace does not delay another."""
    queue: WriteQueue[Named] = WriteQueue(share=8)
    for number in range(5):
        queue.put(Named("a", f"a{number}"))
    queue.put(Named("b", "b0"))

    assert names(queue, 4) == ["a0", "b0", "a1", "a2"]


def test_a_namespace_has_a_share_of_the_workers() -> None:
    """The rest of its writes wait until one of these ends."""
    queue: WriteQueue[Named] = WriteQueue(share=2)
    for number in range(4):
        queue.put(Named("a", f"a{number}"))

    assert names(queue, 3) == ["a0", "a1", "-"]
    queue.done(Named("a", "a0"))
    assert names(queue, 2) == ["a2", "-"]


def test_a_namespace_whose_last_write_failed_has_two() -> None:
    """Its share is whole again after a success."""
    queue: WriteQueue[Named] = WriteQueue(share=8)
    for number in range(8):
        queue.put(Named("a", f"a{number}"))
    first = queue.take()
    assert first is not None
    queue.delay(first, at_least=0)

    assert names(queue, 3) == ["a1", "a2", "-"]
    queue.done(Named("a", "a1"))
    assert names(queue, 3) == ["a3", "a4", "a5"]


def test_of_one_object_the_newest_write_counts() -> None:
    """Whether the older one is ready, under way, or delayed."""
    queue: WriteQueue[Named] = WriteQueue(share=8)
    old, new, newest = (Named("a", "x", turn) for turn in range(3))
    queue.put(old)
    queue.put(new)
    assert queue.take() == new
    queue.put(newest)
    assert queue.take() is None  # of each object one at a time
    queue.delay(new, at_least=0)
    assert queue.take() is None
    queue.release(new)
    assert queue.take() == newest
    queue.done(newest)
    assert len(queue) == 0


def test_a_dropped_write_is_not_tried_again() -> None:
    """Also where it was delayed."""
    queue: WriteQueue[Named] = WriteQueue(share=8)
    write = Named("a", "x")
    queue.put(write)
    queue.take()
    queue.delay(write, at_least=0)
    queue.drop("x", "a")
    queue.release(write)

    assert (queue.take(), len(queue)) == (None, 0)


def test_waits_grow_for_each_object_alone() -> None:
    """At least as long as the server asked for."""
    queue: WriteQueue[Named] = WriteQueue(share=8)
    write = Named("a", "x")
    waits = []
    queue.put(write)
    for _ in range(12):
        assert queue.take() == write
        waits.append(seconds(queue.delay(write, at_least=0.01)))
        queue.release(write)
    other = Named("a", "y")
    queue.put(other)
    queue.take()
    assert queue.take() == other

    assert 15 <= waits[-1] <= 30
    assert seconds(queue.delay(other, at_least=0)) <= 0.1


def test_a_write_that_is_dropped_while_under_way_is_not_tried_again() -> None:
    """A newer write of the same object is written all the same."""
    queue: WriteQueue[Named] = WriteQueue(share=8)
    queue.put(Named("a", "x"))
    old = queue.take()
    assert old is not None
    queue.drop("x", "a")

    assert queue.delay(old, at_least=0) is None
    assert len(queue) == 0

    queue.put(old)
    queue.take()
    queue.drop("x", "a")
    queue.put(Named("a", "x", 1))
    assert queue.delay(old, at_least=0) is not None
    queue.release(old)
    assert queue.take() == Named("a", "x", 1)


def test_namespaces_that_fail_leave_workers_to_the_others() -> None:
    """However many they are."""
    queue: WriteQueue[Named] = WriteQueue(share=8, failing=3)
    spaces = [f"bad{number}" for number in range(10)]
    for space in spaces:
        queue.put(Named(space, space))
    for first in [queue.take() for _ in spaces]:
        assert first is not None
        queue.delay(first, at_least=0)
    for space in spaces:
        queue.put(Named(space, f"{space}-second"))
    queue.put(Named("good", "good"))

    taken = names(queue, 12)
    assert "good" in taken
    assert sum(name.startswith("bad") for name in taken) == 3
