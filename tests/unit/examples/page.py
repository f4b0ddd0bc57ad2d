"""The worked example of a page, compared with what was computed: what is said is there, and no number is left over."""

import re
from collections.abc import Iterable
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"
SIGNS = str.maketrans({"\N{MULTIPLICATION SIGN}": "*", "\N{MINUS SIGN}": "-"})
"""How code writes what pages print."""


def example(page: str, docs: Path = DOCS) -> str:
    """Return the text under `## Example`, on one line and with signs as in code; `page` is as `actions/preempt`."""
    text = (docs / f"{page}.md").read_text(encoding="utf-8").split("\n## Example\n", 1)[1].split("\n## ", 1)[0]
    return " ".join(text.translate(SIGNS).split())


def assert_tells(page: str, *said: str, docs: Path = DOCS) -> None:
    """Compare an example with sentences, or parts of them, into which computed values were put.

    Each must be there as it is, line breaks apart, and together they must cover every digit: a number that
    is not computed could be wrong without a failure.
    """
    rest = example(page, docs)
    for each in said:
        assert each in rest, f"{page}.md does not say: {each}"
        rest = rest.replace(each, " ", 1)
    assert re.findall(r"\S*\d\S*", rest) == [], f"numbers of {page}.md that are not checked"


def listed(names: Iterable[str]) -> str:
    """Write names as a sentence has them: `` `a`, `b` and `c` ``."""
    *first, last = [f"`{name}`" for name in names]
    return f"{', '.join(first)} and {last}" if first else last
