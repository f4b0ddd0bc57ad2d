"""A store returns the objects of its reflector, in order, by name and by index."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.controllers.runtime.store import Store
from pyroclast.model.wire import ObjectMeta, Pod


def pod(name: str, namespace: str = "default", **labels: str) -> Pod:
    """A pod with labels."""
    return Pod(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels))


def job_of(item: Pod) -> list[str]:
    """Index by the label `job`."""
    job = item.metadata.labels.get("job")
    return [job] if job else []


def names(items: object) -> list[str]:
    """Names of objects."""
    return [item.metadata.name for item in items]  # type: ignore[attr-defined]  # any sequence of pods


def test_values_come_in_order_of_namespace_and_name() -> None:
    """The same in any order of events."""
    store: Store[Pod] = Store()
    for item in (pod("b"), pod("a", "zone"), pod("a"), pod("z", "alpha")):
        store.added(item)

    assert [(item.metadata.namespace, item.metadata.name) for item in store.values()] == [
        ("alpha", "z"),
        ("default", "a"),
        ("default", "b"),
        ("zone", "a"),
    ]


def test_an_object_is_found_by_name() -> None:
    """None where there is none."""
    store: Store[Pod] = Store()
    store.added(pod("a"))

    assert store.get("default", "a") == pod("a")
    assert store.get("other", "a") is None


def test_an_update_moves_an_object_between_values_of_an_index() -> None:
    """It is found under what it says now."""
    store: Store[Pod] = Store({"job": job_of})
    store.added(pod("a", job="one"))
    store.updated(pod("a", job="one"), pod("a", job="two"))

    assert names(store.by("job", "one")) == []
    assert names(store.by("job", "two")) == ["a"]


def test_what_is_gone_is_found_nowhere() -> None:
    """Neither by name nor by index."""
    store: Store[Pod] = Store({"job": job_of})
    store.added(pod("a", job="one"))
    store.deleted(pod("a", job="one"))

    assert (len(store), names(store.values()), names(store.by("job", "one"))) == (0, [], [])


def test_a_later_index_contains_existing_objects() -> None:
    """Controllers share a store and each adds what it looks for."""
    store: Store[Pod] = Store()
    store.added(pod("a", job="one"))
    store.add_index("job", job_of)

    assert names(store.by("job", "one")) == ["a"]


def test_one_name_of_an_index_has_one_function() -> None:
    """Two controllers that mean different things by a name are an error."""
    store: Store[Pod] = Store({"job": job_of})
    store.add_index("job", job_of)
    with pytest.raises(ValueError, match="'job'"):
        store.add_index("job", lambda _: [])


@given(st.integers(0, 2**32))
def test_indexes_are_always_those_of_a_store_made_afresh(seed: int) -> None:
    """After any row of changes."""
    chance = random.Random(seed)
    store: Store[Pod] = Store({"job": job_of})
    there: dict[str, Pod] = {}
    for _ in range(60):
        new = pod(chance.choice("abcdef"), job=chance.choice(["", "one", "two"]))
        old = there.get(new.metadata.name)
        if old is None:
            store.added(new)
            there[new.metadata.name] = new
        elif chance.random() < 0.5:
            store.updated(old, new)
            there[new.metadata.name] = new
        else:
            store.deleted(there.pop(new.metadata.name))

    fresh: Store[Pod] = Store({"job": job_of})
    for item in there.values():
        fresh.added(item)
    assert store.values() == fresh.values()
    for job in ("one", "two", ""):
        assert store.by("job", job) == fresh.by("job", job)
        assert store.count("job", job) == len(store.by("job", job))
    assert store._found == fresh._found
