"""Each bound that the page on security states names tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()


def rows() -> list[list[str]]:
    """Return the cells of the table under Bounds, its head left out."""
    table = PAGE.partition("## Bounds")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def test_each_class_names_its_tests() -> None:
    """In the last of five columns, as files."""
    assert len(rows()) > 20
    for row in rows():
        files = re.findall(r"`(tests/[\w/]+\.py)`", row[-1])
        assert len(row) == 5, row
        assert files, row
        assert [file for file in files if not (ROOT / file).is_file()] == [], row
