"""Situations that users reported end as they rightly expect, through the batch mode of `pyroclast simulate`."""

from collections import Counter

import pytest

from tests.conformance.invariants import broken_invariants
from tests.reports.expected_failures import EXPECTED_FAILURES
from tests.reports.judge import KNOWN_FIELDS, differences
from tests.reports.situations import Situation, answer, situations


def _marked(situation: Situation) -> object:
    awaited = pytest.mark.xfail(reason="listed in expected_failures.py", strict=True)
    return pytest.param(situation, id=situation.id, marks=[awaited] if situation.id in EXPECTED_FAILURES else [])


@pytest.mark.parametrize("situation", [_marked(situation) for situation in situations()])
def test_the_situation_ends_as_expected(situation: Situation) -> None:
    """Pods, evictions and reasons are those that the report rightly asks for."""
    assert differences(situation.raw, answer(situation)) == []


@pytest.mark.parametrize("situation", situations(), ids=lambda situation: situation.id)
def test_the_invariants_hold(situation: Situation) -> None:
    """No node is over-committed, no gang is below its minimum, each eviction serves a pod."""
    assert list(broken_invariants(situation.raw, answer(situation)["rounds"])) == []


def test_names_are_unique() -> None:
    """A name means one situation."""
    assert [name for name, count in Counter(each.id for each in situations()).items() if count > 1] == []


def test_expected_failures_exist() -> None:
    """Each expected failure is the name of a situation."""
    assert EXPECTED_FAILURES - {each.id for each in situations()} == set()


@pytest.mark.parametrize("situation", situations(), ids=lambda situation: situation.id)
def test_the_situation_is_described(situation: Situation) -> None:
    """Source, kind and words are there, and the judge knows each field of what is expected."""
    assert situation.raw["origin"]["source"]
    assert situation.raw["origin"]["kind"]
    assert situation.raw["words"]
    assert situation.raw["expect"].keys() - KNOWN_FIELDS == set()
