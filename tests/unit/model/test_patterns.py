"""Patterns of users, searched for in many names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.model.matching.patterns import Names, PatternError, compile_pattern, found_in

NAMES = ("rack-1-a", "rack-1-b", "rack-10-a", "", "other")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("rack-1-", [0, 1]),
        ("^rack-1", [0, 1, 2]),
        ("a$", [0, 2]),
        (r"\Arack-10|r\z", [2, 4]),
        ("(?-m)^$", [3]),
        ("(?i)OTHER", [4]),
        ("", [0, 1, 2, 3, 4]),
        ("^$", [3]),
        (r"rack-\d+-[^b]", [0, 2]),
        (r"b\srack", []),
        ("[[:digit:]]{2}", [2]),
        ("nobody", []),
    ],
)
def test_a_pattern_is_searched_for_in_each_name_by_itself(pattern: str, found: list[int]) -> None:
    """Go's syntax; the ends of a name are the ends of a text."""
    assert list(found_in(pattern, Names(NAMES))) == found


def test_no_names_no_hits() -> None:
    """Nor where everything would do."""
    assert found_in("", Names(())) == ()
    assert found_in(r"\z", Names(())) == ()


@pytest.mark.parametrize("pattern", ["(", "a{1001}", "(?=a)", r"(a)\1", "a++", "((a{100}){100}){100}", "\ud800"])
def test_what_is_no_pattern_of_go_is_refused(pattern: str) -> None:
    """Also a text that Python would parse; the reason is reported."""
    with pytest.raises(PatternError, match=r"."):
        found_in(pattern, Names(NAMES))


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_no_pattern_runs_away(pattern: str) -> None:
    """With backtracking each of these would take forever, for one name already."""
    names = Names(f"{'a' * 250}!{number}" for number in range(100))

    assert found_in(pattern, names) == ()


PIECES = st.sampled_from(
    ["a", "b", "-", "1", ".", "^", "$", r"\b", r"\d", "[^a]", "(a|b)", "a*", "1+", "|", r"\z", "(?m)"]
)


@given(st.lists(PIECES, max_size=6).map("".join), st.lists(st.text("ab-1", max_size=5), max_size=6))
def test_lines_of_one_text_are_texts_by_themselves(pattern: str, names: list[str]) -> None:
    """All names at once give what one by one gives."""
    alone = compile_pattern(pattern)

    assert list(found_in(pattern, Names(names))) == [
        number for number, name in enumerate(names) if alone.search(name) is not None
    ]
