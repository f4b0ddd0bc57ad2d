"""Each difference from Volcano on docs/compatibility.md names the case that shows it, and that case is there."""

import re
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"
DEFINITION = re.compile(r'^\[([A-Z]+\d+[a-z]?)\]: (\S+) "(\S+)"$', re.MULTILINE)
LINK = re.compile(r"\[[^\]]+\]\[([^\]]+)\]")


@dataclass(frozen=True)
class Row:
    """A row of a table whose first column is `ref`."""

    ref: str
    heads: tuple[str, ...]
    cells: tuple[str, ...]

    @property
    def shown_by(self) -> list[str]:
        """Labels of the links in its last cell."""
        return LINK.findall(self.cells[-1])


def cells(line: str) -> tuple[str, ...]:
    """Cells of a line of a table."""
    return tuple(cell.strip() for cell in line.strip("|").split("|"))


def rows(text: str) -> list[Row]:
    """All rows of tables that begin with `ref`."""
    found: list[Row] = []
    heads: tuple[str, ...] = ()
    for line in text.splitlines():
        if not line.startswith("|"):
            heads = ()
        elif not heads:
            heads = cells(line)
        elif heads[0] == "ref" and not line.startswith("|-"):
            found.append(Row(cells(line)[0], heads, cells(line)))
    return found


def names(file: Path) -> set[str]:
    """Tests of a module, or cases of a decision table."""
    if file.suffix == ".py":
        return set(re.findall(r"^(?:async )?def (test_\w+)\(", file.read_text(), re.MULTILINE))
    return {str(msgspec.json.decode(line)["id"]) for line in file.read_bytes().splitlines() if line.strip()}


TEXT = PAGE.read_text()
ROWS = rows(TEXT)
SHOWN = {label: (PAGE.parent / target, name) for label, target, name in DEFINITION.findall(TEXT)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.ref)
def test_each_row_names_what_shows_it(row: Row) -> None:
    """By links of its own, to tests and cases that are there."""
    assert (row.heads[-1], len(row.cells)) == ("shown by", len(row.heads))
    assert row.shown_by, f"{row.ref} names no case"
    for label in row.shown_by:
        assert re.fullmatch(rf"{row.ref}[a-z]?", label), f"{row.ref} uses the label {label}"
        file, name = SHOWN[label]
        assert name in names(file), f"{file.name} has no {name}"


def test_references_are_unique_and_in_order() -> None:
    """A ref means one row; links are defined once, in the order of the rows, and none is left over."""
    refs = [row.ref for row in ROWS]

    assert sorted(set(refs)) == sorted(refs)
    assert [label for label, _, _ in DEFINITION.findall(TEXT)] == [label for row in ROWS for label in row.shown_by]


def test_no_table_of_differences_is_passed_over() -> None:
    """Tables whose rows are not cited are those of the definitions and of cases, which name cases themselves."""
    others = {heads for heads in map(cells, re.findall(r"^(\|.*\|)\n\|-", TEXT, re.MULTILINE)) if heads[0] != "ref"}

    assert {heads[0] for heads in others} == {"what", "Case"}
    assert len({heads for heads in others if heads[0] == "what"}) == 1


def test_the_number_of_exceptions_is_said_right() -> None:
    """Who adds or removes a case changes the sentence above the table."""
    section = TEXT.split("## Conformance exceptions\n", 1)[1]
    cases = re.findall(r"`([^`]+)`", "".join(cells(line)[0] for line in section.splitlines() if line.startswith("| `")))

    (said,) = re.findall(r"and (\d+) have a row", section)
    assert (len(set(cases)), len(cases)) == (int(said), int(said))
