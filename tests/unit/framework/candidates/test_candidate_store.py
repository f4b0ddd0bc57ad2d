"""Candidates stay within their budget of memory, and what is dropped is made anew with the same answers."""

from typing import Any, cast

import pytest

from pyroclast.framework.candidates.candidate_store import CandidateStore
from pyroclast.framework.candidates.candidates import Candidates
from pyroclast.testing import Scenario


class Sized:
    """Stands for candidates: so many bytes."""

    def __init__(self, size: int) -> None:
        self.array_bytes = size


def stored(store: CandidateStore, *sizes: int) -> list[Any]:
    """Store as many candidates as there are sizes, numbered from 0."""
    made = [cast("Any", Sized(size)) for size in sizes]
    for number, each in enumerate(made):
        store.put(number, each)
    return made


def test_the_longest_unused_goes_first() -> None:
    """The first was asked for again, so that the second goes when there is no room for a fourth."""
    store = CandidateStore(most_bytes=30)
    first, *_ = stored(store, 10, 10, 10)
    assert store.get(0) is first
    store.put(3, cast("Any", Sized(10)))

    assert [number in store for number in range(4)] == [True, False, True, True]
    assert store.get(1) is None


def test_the_last_stays_whatever_it_takes() -> None:
    """A task must be able to ask about the nodes of a cluster of any size."""
    store = CandidateStore(most_bytes=5)
    stored(store, 3, 100)

    assert (len(store), 1 in store) == (1, True)


def test_answers_by_amounts_stay_within_their_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of known amounts of a template is limited, and places are the same."""
    scenario = Scenario()
    for number in range(6):
        scenario = scenario.node(f"n{number}", cpu=4 + number)
    for number in range(6):
        scenario = scenario.job(f"j{number}", tasks=4, min_available=1, cpu="500m")
    plugins = (("priority", "gang"), ("drf", "predicates", "proportion", "nodeorder", "binpack"))
    free = scenario.run("enqueue", "allocate", "backfill", plugins=plugins)

    sizes: list[int] = []
    recall = Candidates._recall

    def counted(candidates: Candidates, *about: Any) -> None:
        recall(candidates, *about)
        sizes.append(max(len(candidates._known), len(candidates._ahead)))

    monkeypatch.setattr("pyroclast.framework.candidates.candidates.MOST_AMOUNTS", 2)
    monkeypatch.setattr(Candidates, "_recall", counted)
    tight = scenario.run("enqueue", "allocate", "backfill", plugins=plugins)
    assert tight.bindings == free.bindings
    assert max(sizes) == 2


@pytest.mark.parametrize("most_bytes", [1, 1000])
def test_decisions_are_the_same_within_any_budget(most_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of unlike requests, which take turns on the same nodes."""
    scenario = Scenario()
    for number in range(4):
        scenario = scenario.node(f"n{number}", cpu=4 + number, labels={"zone": f"z{number % 2}"})
    for number in range(6):
        scenario = scenario.job(f"j{number}", tasks=3, min_available=1, cpu=f"{500 + 100 * number}m")
    plugins = (("priority", "gang"), ("drf", "predicates", "proportion", "nodeorder", "binpack"))
    free = scenario.run("enqueue", "allocate", "backfill", plugins=plugins, cycles=2)

    monkeypatch.setattr(
        "pyroclast.framework.candidates.candidate_nodes.CandidateStore", lambda: CandidateStore(most_bytes)
    )
    tight = scenario.run("enqueue", "allocate", "backfill", plugins=plugins, cycles=2)
    assert tight.bindings == free.bindings
    assert len(free.bindings) > 10
