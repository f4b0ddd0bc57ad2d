"""A shelf: what is taken of cards is the sum over who holds them."""

from hypothesis import given
from hypothesis import strategies as st

from pyroclast.model.devices.cards import Holder, Shelf, Use
from pyroclast.model.ids import TaskId

INSTANCES = st.none() | st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 2))
USES = st.builds(
    Use,
    card=st.integers(0, 1),
    memory=st.integers(0, 9),
    cores=st.integers(0, 9),
    instance=INSTANCES,
    amounts=st.just(()) | st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
HOLDERS = st.lists(st.lists(USES, max_size=6).map(lambda uses: Holder(tuple(uses))), max_size=5)


def test_an_annotation_may_name_thousands_of_instances() -> None:
    """Any user can write one up to the server's limit; it is counted in one go, and leaves nothing."""
    uses = tuple(Use(0, 1, instance=("g", number % 7)) for number in range(20_000))
    shelf = Shelf(1)
    shelf.put(TaskId("t"), Holder(uses))
    assert shelf.parts == shelf.memory == [20_000]
    assert shelf.instances == [tuple(sorted(use.instance for use in uses if use.instance is not None))]

    shelf.take(TaskId("t"))
    assert shelf.state() == Shelf(1).state()


@given(holders=HOLDERS, order=st.permutations(range(5)))
def test_a_removed_pod_leaves_the_allocations_of_others(holders: list[Holder], order: list[int]) -> None:
    """In any order, and also where several hold the same instance, as annotations may say."""
    shelf = Shelf(2)
    for number, holder in enumerate(holders):
        shelf.put(TaskId(str(number)), holder)
    left = dict(enumerate(holders))
    for number in (each for each in order if each in left):
        assert shelf.take(TaskId(str(number))) == left.pop(number)
        alone = Shelf(2)
        for other, holder in left.items():
            alone.put(TaskId(str(other)), holder)
        assert shelf.state() == alone.state()
