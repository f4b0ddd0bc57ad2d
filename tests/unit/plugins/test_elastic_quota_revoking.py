"""Victims of a quota that has exceeded its limit for long."""

import pytest

from pyroclast.plugins.elastic_quota.revoking import to_revoke

LEAST_IMPORTANT_FIRST = {"p4": [40, 0], "p3": [20, 0], "p2": [10, 1], "p1": [20, 0]}


@pytest.mark.parametrize(
    ("limit", "gone"),
    [
        pytest.param([50, 0], ["p4", "p2"], id="given back from the most important on"),
        pytest.param([-1, -1], ["p4", "p3", "p2", "p1"], id="all where that does not suffice"),
        pytest.param([90, 1], [], id="none where it has no more than it may"),
        pytest.param([89, 1], ["p4"], id="the least important first"),
    ],
)
def test_victims_are_few_and_unimportant(limit: list[int], gone: list[str]) -> None:
    """Four pods have 90 CPU and 1 of memory."""
    found = to_revoke(list(LEAST_IMPORTANT_FIRST.values()), [90, 1], limit, [0, 1])
    assert {list(LEAST_IMPORTANT_FIRST)[at] for at in found} == set(gone)


def test_what_does_not_count_is_not_looked_at() -> None:
    """A quota that does not speak of memory is not over in it."""
    assert to_revoke(list(LEAST_IMPORTANT_FIRST.values()), [90, 1], [90, 0], [0]) == []
