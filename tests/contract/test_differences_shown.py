"""Each difference from Volcano in docs/compatibility names the case that shows it, and that case exists."""

import re
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "compatibility"
PAGES = {page: page.read_text() for page in sorted(FOLDER.glob("*.md"))}
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


ROWS = [row for text in PAGES.values() for row in rows(text)]
SHOWN = {label: (FOLDER / target, name) for text in PAGES.values() for label, target, name in DEFINITION.findall(text)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.ref)
def test_each_row_names_what_shows_it(row: Row) -> None:
    """Each page has links of its own, to existing tests and cases."""
    assert (row.heads[-1], len(row.cells)) == ("shown by", len(row.heads))
    assert row.shown_by, f"{row.ref} names no case"
    for label in row.shown_by:
        assert re.fullmatch(rf"{row.ref}[a-z]?", label), f"{row.ref} uses the label {label}"
        file, name = SHOWN[label]
        assert name in names(file), f"{file.name} has no {name}"


def test_references_are_unique_and_in_order() -> None:
    """A ref means one row; each page defines the links of its rows once, in their order, and no others."""
    refs = [row.ref for row in ROWS]

    assert sorted(set(refs)) == sorted(refs)
    for text in PAGES.values():
        assert [found[0] for found in DEFINITION.findall(text)] == [
            label for row in rows(text) for label in row.shown_by
        ]


def test_no_table_of_differences_is_passed_over() -> None:
    """Tables without cited rows list the pages, the definitions, the cases and their counts."""
    heads = [cells(line)[0] for text in PAGES.values() for line in re.findall(r"^(\|.*\|)\n\|-", text, re.MULTILINE)]

    assert sorted(head for head in heads if head != "ref") == ["Case", "page", "tables", "what"]


def test_the_number_of_exceptions_is_said_right() -> None:
    """The sentence above the table counts its cases."""
    section = PAGES[FOLDER / "conformance.md"]
    cases = re.findall(r"`([^`]+)`", "".join(cells(line)[0] for line in section.splitlines() if line.startswith("| `")))

    (said,) = re.findall(r"and (\d+) have a row", section)
    assert (len(set(cases)), len(cases)) == (int(said), int(said))
