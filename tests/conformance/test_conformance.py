"""Decisions agree with Volcano's decision tables, through the batch mode of `pyroclast simulate`."""

import re
from collections import Counter

import pytest

from tests.conformance.cases import (
    EXCEPTIONS,
    Table,
    exceptions,
    registry,
    runnable,
    tables,
    upstream_folder,
    upstream_is_required,
)
from tests.conformance.judge import answer, broken, differences

KINDS = ("upstream", "generated", "stops")


@pytest.mark.parametrize("table", runnable(), ids=lambda table: table.id)
def test_decisions_agree(table: Table) -> None:
    """The invariants hold always; the outcome is the reference's, or docs/compatibility/conformance.md says why not."""
    answered = answer(table)

    assert broken(table, answered) == []
    unlike = differences(table, answered)
    if table.id in exceptions():
        assert unlike, f"{table.id} agrees now: remove its row from {EXCEPTIONS.name}"
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
    """Each row names a case that exists."""
    unknown = set(exceptions()) - {table.id for table in tables()}
    if not upstream_folder().is_dir():
        unknown = {name for name in unknown if not name.startswith("upstream/")}

    assert unknown == set()


def test_the_page_has_their_numbers() -> None:
    """Cases by where they are from, how many agree, how many differ on purpose."""
    counts = Counter((where_from(table), table.id in exceptions()) for table in tables())
    page = EXCEPTIONS.read_text(encoding="utf-8")
    told = page.split("<!-- conformance: begin -->")[1].split("<!-- conformance: end -->")[0]
    numbers = [tuple(map(int, cells)) for cells in re.findall(r"\| (\d+) \| (\d+) \| (\d+) \|$", told, re.MULTILINE)]

    counted = [
        (sum(counts[kind, any_way] for any_way in (False, True)), *(counts[kind, way] for way in (False, True)))
        for kind in KINDS
    ]
    is_whole = upstream_folder().is_dir()
    assert (numbers if is_whole else numbers[1:]) == (counted if is_whole else counted[1:])


def where_from(table: Table) -> str:
    """Tell the tables of Volcano's tests, of generated clusters, and of inputs that stop Volcano apart."""
    return "upstream" if table.is_upstream else "stops" if "reference" in table.raw else "generated"


def test_names_of_cases_are_unique() -> None:
    """A name tells one case, so a row and a report are never ambiguous."""
    repeated = [name for name, count in Counter(table.id for table in tables()).items() if count > 1]

    assert repeated == []


def test_nothing_is_left_for_later() -> None:
    """No case waits for a plugin or an action, nor for a misspelling of ours."""
    assert {name for table in tables() for name in table.awaits(registry())} == set()
