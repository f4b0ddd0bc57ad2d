"""Examples of pages are compared to the last number."""

from pathlib import Path

import pytest

from tests.unit.examples.page import assert_tells, example, listed


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with a page of three numbers in its example."""
    text = "# p\n\n## Example\n\nOf 4 pods\n2 \N{MULTIPLICATION SIGN} 1 go.\n\n## Interactions\n\n7\n"
    (tmp_path / "p.md").write_text(text, encoding="utf-8")
    return tmp_path


def test_line_breaks_and_signs_do_not_matter(docs: Path) -> None:
    """And what stands in other sections is not looked at."""
    assert example("p", docs) == "Of 4 pods 2 * 1 go."
    assert_tells("p", "Of 4 pods 2 * 1 go.", docs=docs)
    assert_tells("p", "Of 4 pods", "2 * 1", docs=docs)


def test_missing_values_are_reported(docs: Path) -> None:
    """With the sentence."""
    with pytest.raises(AssertionError, match="does not say: Of 5 pods"):
        assert_tells("p", "Of 5 pods", docs=docs)


def test_a_number_without_computation_is_reported(docs: Path) -> None:
    """It could be wrong."""
    with pytest.raises(AssertionError, match="not checked"):
        assert_tells("p", "Of 4 pods", docs=docs)


def test_names_in_a_sentence() -> None:
    """One, two, more."""
    assert [listed(names) for names in ("a", "ab", "abc")] == ["`a`", "`a` and `b`", "`a`, `b` and `c`"]
