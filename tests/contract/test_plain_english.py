"""Texts are in plain English: each area has a ceiling for each forbidden pattern, and ceilings only go down.

The words are those of docs/glossary.md. After a clean-up, lower the ceiling of that area to the new count.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).parents[2]

PATTERNS: Final = {
    "nobody": re.compile(r"\b(?:nobody|somebody|anybody|everybody|whoever|whomever)\b", re.IGNORECASE),
    "tell whether": re.compile(r"\btells? (?:whether|if)\b", re.IGNORECASE),
    "hears, told, wants": re.compile(r"\b(?:hears?|heard|told|wants|wanted|minds)\b", re.IGNORECASE),
    "fragment": re.compile(
        r'(?:"""|^(?:#+ |- )?|\| |[.:;] )(?:Of|Who|Whose|Whom|By(?! default)) (?![^.|"\n]*\?)', re.MULTILINE
    ),
}
"""Indefinite persons; functions that "tell"; objects that act like people; sentences without subject and verb."""

CEILINGS: Final = {
    "texts": (0, 0, 0, 0),
    "docs": (0, 0, 0, 0),
    "deploy": (0, 0, 0, 0),
    "config": (0, 0, 0, 0),
    "examples": (0, 0, 0, 0),
    "actions": (0, 0, 0, 0),
    "cache": (0, 0, 0, 0),
    "controllers": (0, 0, 0, 0),
    "emulator": (0, 0, 0, 0),
    "framework": (0, 0, 0, 0),
    "kube": (0, 0, 0, 0),
    "model": (0, 0, 0, 0),
    "plugins": (0, 0, 0, 0),
    "pyroclast": (0, 0, 0, 0),
    "scheduler": (0, 0, 0, 0),
    "tests": (0, 0, 0, 0),
}
"""Numbers by area, in the order of `PATTERNS`. "texts" are the pages at the root; docstrings count in tests."""

SUFFIXES: Final = {".md", ".py", ".yaml", ".tpl", ".txt", ".json"}
CODE: Final = re.compile(r"^```.*?^```|`[^`\n]+`|^\[[^\]]+\]: .*$|\[[^\]]+\](?=\[)", re.MULTILINE | re.DOTALL)
"""Code on pages quotes what programs print; labels and targets of reference links are names of tests."""


def files(area: str) -> Iterator[Path]:
    """Yield the files of an area."""
    if area == "texts":
        yield from sorted(ROOT.glob("*.md"))
    else:
        yield from (path for path in sorted((ROOT / area).rglob("*")) if path.suffix in SUFFIXES and path.is_file())


def prose(path: Path) -> str:
    """Return the text of a file: without the code of a page, and the docstrings of a test."""
    text = path.read_text()
    if path.suffix == ".py" and path.is_relative_to(ROOT / "tests"):
        return "\n".join(f'"""{each}' for each in docstrings(ast.parse(text)))
    return CODE.sub("", text) if path.suffix == ".md" else text


def docstrings(module: ast.Module) -> Iterator[str]:
    """Yield the texts that stand alone in a module, its classes and functions, without code in them."""
    for node in ast.walk(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield CODE.sub("", node.value.value)


def matches(area: str, pattern: re.Pattern[str]) -> list[str]:
    """Return the matches of a pattern in an area, each with its file and the text around it."""
    return [
        f"{path.relative_to(ROOT)}: {text[match.start() : match.end() + 40]!r}"
        for path in files(area)
        for text in [prose(path)]
        for match in pattern.finditer(text)
    ]


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("area", CEILINGS)
def test_forbidden_patterns_stay_below_their_ceiling(area: str, name: str) -> None:
    """A failure lists the matches."""
    ceiling = CEILINGS[area][list(PATTERNS).index(name)]
    found = matches(area, PATTERNS[name])

    assert len(found) <= ceiling, "\n".join(found)
