"""Decisions agree with Volcano's decision tables, through the batch mode of `pyroclast simulate`."""

from collections import Counter

import pytest

from tests.conformance.cases import (
    COMPATIBILITY,
    Table,
    exceptions,
    registry,
    runnable,
    tables,
    upstream_folder,
    upstream_is_required,
)
from tests.conformance.judge import answer, broken, differences


@pytest.mark.parametrize("table", runnable(), ids=lambda table: table.id)
def test_decisions_agree(table: Table) -> None:
    """The invariants hold always; the outcome is the reference's, or docs/compatibility.md says why not."""
    answered = answer(table)

    assert broken(table, answered) == []
    unlike = differences(table, answered)
    if table.id in exceptions():
        assert unlike, f"{table.id} agrees now: take its row out of {COMPATIBILITY.name}"
    else:
        assert unlike == []


def test_upstream_cases_are_there() -> None:
    """The cases of Volcano's own tests lie beside the checkout, or where PYROCLAST_UPSTREAM_CASES says."""
    if upstream_folder().is_dir():
        assert any(table.is_upstream for table in tables())
        return
    reason = f"{upstream_folder()} is not there: the cases of Volcano's own tests are left out"
    if upstream_is_required():
        pytest.fail(reason)
    pytest.skip(reason)


def test_exceptions_name_cases_that_exist() -> None:
    """No row speaks of a case that nobody can run."""
    unknown = set(exceptions()) - {table.id for table in tables()}
    if not upstream_folder().is_dir():
        unknown = {name for name in unknown if not name.startswith("upstream/")}

    assert unknown == set()


def test_names_of_cases_are_unique() -> None:
    """A name tells one case, so a row and a report are never ambiguous."""
    repeated = [name for name, count in Counter(table.id for table in tables()).items() if count > 1]

    assert repeated == []


def test_nothing_is_left_for_later() -> None:
    """No case waits for a plugin or an action, nor for a misspelling of ours."""
    assert {name for table in tables() for name in table.awaits(registry())} == set()
