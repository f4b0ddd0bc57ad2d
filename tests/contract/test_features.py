"""The tables of Volcano's and Koordinator's features are complete, and what they link exists."""

import re
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

FOLDER: Final = Path(__file__).parents[2] / "docs" / "reference" / "features"
PAGES: Final = ("plugin-guide", "koordinator", "extender", "overview", "drf")
LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)#]+)[^)]*\)")
STATES: Final = {"works", "partly", "missing", "by design"}
CEILINGS: Final = {"partly": 1, "missing": 0}
"""Largest numbers of features in a state. They only go down: lower them after each feature that works."""


class Row(NamedTuple):
    """A row of a table, in the order of its cells."""

    number: int
    statement: str
    state: str
    code: str
    test: str
    note: str


def rows() -> list[Row]:
    """Read the rows of all pages."""
    lines = (line for page in PAGES for line in (FOLDER / f"{page}.md").read_text().splitlines())
    cells = ([cell.strip() for cell in line[1:-1].split(" | ")] for line in lines if re.match(r"\| \d", line))
    return [Row(int(number), *rest) for number, *rest in cells]


ROWS: Final = rows()


@cache
def functions_of(file: Path) -> frozenset[str]:
    """Return the names of the test functions of a module."""
    return frozenset(re.findall(r"^(?:async )?def (test_\w+)\(", file.read_text(), re.MULTILINE))


def test_numbers_are_complete() -> None:
    """Each statement of the five documents has one row, in order."""
    assert [row.number for row in ROWS] == list(range(1, 258))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.number))
def test_each_row_is_complete(row: Row) -> None:
    """It has a statement, a state, a place in the code and a test, and a note unless the feature works."""
    assert row.statement
    assert row.state in STATES
    assert row.note or row.state == "works"
    assert row.state != "by design" or LINK.search(row.note)
    for text, target in (*LINK.findall(row.code), *LINK.findall(row.note)):
        assert (FOLDER / target).exists(), text
    assert [text for text, target in LINK.findall(row.code) if target != f"../../../{text}"] == []
    assert LINK.search(row.code)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.number))
def test_each_row_names_tests_that_exist(row: Row) -> None:
    """Each link of the cell has the name of a test function of its file."""
    linked = LINK.findall(row.test)

    assert linked
    assert [name for name, target in linked if name not in functions_of(FOLDER / target)] == []


@pytest.mark.parametrize("state", CEILINGS)
def test_features_that_do_not_work_stay_below_their_ceiling(state: str) -> None:
    """A feature that worked still works. Lower the ceiling after each feature that works now."""
    assert sum(row.state == state for row in ROWS) <= CEILINGS[state]


def test_each_rule_of_reservations_has_a_test_that_exists() -> None:
    """The page of Reservations has each rule once, in order. D5 is no rule."""
    lines = (FOLDER / "reservations.md").read_text().splitlines()
    rules = [[cell.strip() for cell in line[1:-1].split(" | ")] for line in lines if re.match(r"\| [RD]\d", line)]
    linked = {rule: LINK.findall(tests) for rule, _, tests in rules}

    assert list(linked) == [*(f"R{number}" for number in range(1, 47)), "D1", "D2", "D3", "D4", "D6"]
    assert [rule for rule, links in linked.items() if not links] == []
    missing = [name for links in linked.values() for name, file in links if name not in functions_of(FOLDER / file)]
    assert missing == []
