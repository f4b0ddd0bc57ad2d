"""Reasons of left-out jobs are computed again for changed jobs only, and equal those of a computation from nothing."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyroclast.framework.session.namespace_windows import share_used
from pyroclast.framework.state import left_out_reasons
from pyroclast.framework.state.last_result import LastResult
from pyroclast.framework.state.left_out_reasons import LeftOutReasons
from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.refusals import Refusal

COLUMNS = 5


def table(revisions: list[int]) -> Any:
    """Return the part of a job table that counts; the id of a job depends on its column and revision."""
    jobs = [SimpleNamespace(id=JobId(f"a/{each % 3}-{column}")) for column, each in enumerate(revisions)]
    return SimpleNamespace(revision=np.array(revisions, dtype=np.int64), jobs=tuple(jobs))


def results(revisions: list[int]) -> dict[JobId, LastResult]:
    """Return results of all jobs with an even revision."""
    found = {}
    for each in table(revisions).jobs:
        revision = revisions[int(each.id.rsplit("-")[1])]
        why = Refusal(plugin="predicates", reason="Insufficient cpu", message=f"{revision}")
        if revision % 2 == 0:
            found[each.id] = LastResult(
                revision, (why,), None, None, {}, {TaskId(each.id): why}, None, None, False, (why,)
            )
    return found


CYCLES = st.lists(
    st.tuples(
        st.lists(st.integers(0, 6), min_size=COLUMNS, max_size=COLUMNS),
        st.lists(st.integers(0, 2), min_size=COLUMNS, max_size=COLUMNS),
        st.permutations(["a", "b"]),
    ),
    min_size=1,
    max_size=6,
)


@given(CYCLES)
@example([([2, 2, 2, 2, 2], [1, 1, 0, 2, 1], ["a", "b"]), ([2, 4, 2, 2, 5], [1, 1, 1, 0, 1], ["b", "a"])])
def test_they_are_those_of_a_computation_from_nothing(cycles: list[tuple[list[int], list[int], list[str]]]) -> None:
    """In any sequence of changes, also in their order."""
    kept = LeftOutReasons()
    for revisions, numbers, namespaces in cycles:
        refusals = [share_used("scheduler", "time", name) for name in namespaces]
        given_now = table(revisions), np.array(numbers, dtype=np.int64), refusals, results(revisions)
        found, fresh = kept.update(*given_now), LeftOutReasons().update(*given_now)

        assert [list(each.items()) for each in found] == [list(each.items()) for each in fresh]
        assert list(found[0]) == sorted(found[0])
        for column, number in enumerate(numbers):
            reasons = found[0].get(table(revisions).jobs[column].id, ())
            assert reasons[:1] == ((refusals[number - 1],) if number else ())


def test_they_are_dropped_if_there_are_too_many_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of remembered reasons is bounded."""
    monkeypatch.setattr(left_out_reasons, "_MOST_REFUSALS", 2)
    kept = LeftOutReasons()
    for cycle in range(9):
        refusals = [share_used("scheduler", "time", f"namespace-{cycle}")]
        found, _ = kept.update(table([1] * COLUMNS), np.ones(COLUMNS, dtype=np.int64), refusals, {})

        assert list(found.values()) == [tuple(refusals)] * COLUMNS
        assert len(kept._known) <= 3
