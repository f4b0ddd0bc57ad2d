"""Each law of docs/explain/laws.md says how Volcano's rule is restored, and has a test in tests/laws and a row."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explain" / "laws.md"
DIFFERENCES = "".join(page.read_text() for page in (ROOT / "docs" / "compatibility").glob("*.md"))
ROWS = set(re.findall(r"^\| ([A-Z]+\d+) \|", DIFFERENCES, re.MULTILINE))
LAWS = dict(re.findall(r"^## (.+)\n\n((?:(?!## ).*\n)*)", PAGE.read_text(), re.MULTILINE))


def item(law: str, label: str) -> str:
    """Return what a law's list says under a label."""
    (found,) = re.findall(rf"^- {label}: (.+)$", LAWS[law], re.MULTILINE)
    return str(found)


def test_there_are_laws() -> None:
    """The page is read."""
    assert LAWS


@pytest.mark.parametrize("law", LAWS)
def test_a_law_has_rows(law: str) -> None:
    """They are rows in docs/compatibility."""
    rows = set(item(law, "Rows").split(", "))

    assert rows
    assert rows <= ROWS


@pytest.mark.parametrize("law", LAWS)
def test_a_law_has_a_test_on_generated_clusters(law: str) -> None:
    """All linked files are there; the first is in tests/laws."""
    files = [(PAGE.parent / target).resolve() for target in re.findall(r"\]\(([^)]+)\)", item(law, "Tests"))]

    assert files[0].parent == ROOT / "tests" / "laws"
    assert [file for file in files if not file.is_file()] == []


@pytest.mark.parametrize("law", LAWS)
def test_volcanos_rule_is_available_or_reported_as_removed(law: str) -> None:
    """The argument that restores it stands on a page that the law links, or the law says that there is none."""
    rule, more = item(law, "Volcano's rule"), re.findall(r"\]\(([^)]+)\)", item(law, "More"))
    arguments = re.findall(r"`([\w-]+)(?:: \w+)?`", rule)
    pages = "".join((PAGE.parent / target.partition("#")[0]).read_text() for target in more)

    assert rule.startswith("none, ") or arguments[0] in pages
