"""Tables of pages."""

import re
from pathlib import Path

__all__ = ["rows"]


def rows(page: Path, part: str) -> dict[str, tuple[str, ...]]:
    """Read the table under a heading: its cells by the first one, back-quotes taken off."""
    text = page.read_text().split(f"## {part}\n", 1)[1].split("\n## ", 1)[0]
    cells = [tuple(_unquoted(cell) for cell in line.strip("|").split(" | ")) for line in text.splitlines()]
    return {row[0]: row[1:] for row in cells if len(row) > 1 and not re.fullmatch("[-|]*|name|flag", row[0])}


def _unquoted(cell: str) -> str:
    """Take back-quotes off a cell that is one piece of code."""
    return re.sub(r"^`([^`]*)`$", r"\1", cell.strip())
