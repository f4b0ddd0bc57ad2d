"""The store: revisions, pages that stay consistent, and history that ends."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.emulator.statuses import ApiError
from pyroclast.emulator.storage.store import Collection, Store


def put(collection: Collection, name: str, *, namespace: str = "a", value: int = 0) -> None:
    """Store an object."""
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}
    collection.put({"kind": "Thing", "apiVersion": "v1", "metadata": metadata, "value": value})


def seen(records: list[Any]) -> list[tuple[str, int]]:
    """Names and values of records."""
    return [(record.name, record.object()["value"]) for record in records]


def test_every_change_takes_the_next_revision() -> None:
    """One counter orders the changes of all collections."""
    store = Store()
    first, second = store.collection("", "a"), store.collection("", "b")
    put(first, "x")
    put(second, "y")
    put(first, "x", value=1)

    assert [event.revision for event in first.events_since(0)] == [2, 4]
    assert [event.revision for event in second.events_since(0)] == [3]


def test_a_namespace_is_listed_without_its_neighbours() -> None:
    """Names that begin alike do not leak into each other's lists."""
    collection = Store().collection("", "things")
    for namespace in ("a", "a-b", "ab", "b"):
        put(collection, "x", namespace=namespace)

    assert [record.namespace for record in collection.page(namespace="a").records] == ["a"]


def test_pages_show_the_state_of_the_first_page() -> None:
    """What changes between two pages does not show in the second."""
    collection = Store().collection("", "things")
    for name in "bdfh":
        put(collection, name)
    first = collection.page(limit=2)
    put(collection, "a")
    put(collection, "e")
    put(collection, "f", value=7)
    record = collection.get("a", "h")
    assert record is not None
    collection.remove(record)

    second = collection.page(limit=2, token=first.continue_token)

    assert seen(first.records) == [("b", 0), ("d", 0)]
    assert first.remaining == 2
    assert seen(second.records) == [("f", 0), ("h", 0)]
    assert second.revision == first.revision
    assert second.continue_token == ""


def test_a_token_expires_with_the_history() -> None:
    """After compaction the next page is refused with 410."""
    store = Store()
    collection = store.collection("", "things")
    for name in "abc":
        put(collection, name)
    page = collection.page(limit=1)
    put(collection, "d")
    store.compact()

    with pytest.raises(ApiError, match="continue parameter is too old") as refusal:
        collection.page(limit=1, token=page.continue_token)
    assert refusal.value.code == 410


def test_history_is_bounded() -> None:
    """A limited number of events is kept; older watches get 410."""
    collection = Store(history=2).collection("", "things")
    for name in "abcd":
        put(collection, name)

    assert [event.record.name for event in collection.events_since(3)] == ["c", "d"]
    with pytest.raises(ApiError, match="too old resource version: 2"):
        collection.events_since(2)


def test_a_foreign_token_is_refused() -> None:
    """Tokens of others are 400, not a crash."""
    with pytest.raises(ApiError) as refusal:
        Store().collection("", "things").page(limit=1, token="nonsense!")
    assert refusal.value.code == 400


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), max_size=40), st.integers(1, 5))
def test_any_past_is_listed_as_it_was(changes: list[tuple[str, bool]], limit: int) -> None:
    """Law: paging at an old revision gives what a whole list gave then."""
    store = Store()
    collection = store.collection("", "things")
    past: dict[int, list[tuple[str, int]]] = {}
    for number, (name, removes) in enumerate(changes):
        record = collection.get("a", name)
        if removes and record is not None:
            collection.remove(record)
        else:
            put(collection, name, value=number)
        past[store.revision] = seen(collection.page().records)

    for revision, expected in past.items():
        page = collection.page(limit=limit, at=revision)
        records = list(page.records)
        while page.continue_token:
            page = collection.page(limit=limit, token=page.continue_token)
            records += page.records
        assert seen(records) == expected
