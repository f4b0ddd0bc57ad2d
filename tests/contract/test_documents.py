"""Documents hang together: links lead somewhere, decisions are numbered and listed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for folder in (ROOT / "docs", ROOT / "examples", ROOT / "deploy") for path in folder.rglob("*.md"))
PAGES += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def prose(path: Path) -> str:
    """Return a page without its blocks and pieces of code."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Files exist, and headings where a link names one."""
    for target in LINK.findall(prose(page)):
        if target.startswith(("http:", "https:")):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_decisions_are_numbered_without_gaps_and_listed() -> None:
    """Code cites numbers, so they stay."""
    folder = ROOT / "docs" / "decisions"
    names = sorted(path.name for path in folder.glob("[0-9]*.md"))
    listed = re.findall(r"\]\(([0-9]{4}-[^)]+)\)", (folder / "README.md").read_text())

    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
    assert listed == names


def test_every_decision_has_its_parts() -> None:
    """Context, decision, consequences, what was refused."""
    for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md"):
        parts = re.findall(r"^## (.+)$", path.read_text(), re.MULTILINE)
        assert parts[:4] == ["Context", "Decision", "Consequences", "Refused"], path.name
