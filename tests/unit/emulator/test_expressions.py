"""The part of CEL that the emulator reads."""

from typing import Any

import pytest

from pyroclast.emulator.expressions import EvaluationError, UnreadableExpression, compile_expression

THIS = {"size": 3, "name": "abc", "parts": [1, 2], "deep": {"mode": "soft"}, "on": True}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("self.size", 3),
        ("self.size > 2 && self.size <= 3", True),
        ("self.size == 4 || self.name == 'abc'", True),
        ('self.name != "abc"', False),
        ("has(self.deep.mode)", True),
        ("has(self.deep.tier)", False),
        ("has(self.none.tier)", False),
        ("!has(self.none)", True),
        ("size(self.parts) + self.size * 2 - 1", 7),
        ("self.parts.size()", 2),
        ("self.parts[1]", 2),
        ("self.on ? 1 : 0", 1),
        ("(has(self.x) ? 1 : 0) + (has(self.on) ? 1 : 0) <= 1", True),
        ("false ? 1 : true ? 2 : 3", 2),
        ("self.size in self.parts", False),
        ("-self.size < 0", True),
        ("null == self.deep", False),
        ("has(self.none) && self.none.size > 1", False),
    ],
)
def test_values(source: str, value: object) -> None:
    """Operators bind and combine as in CEL; what need not be looked at is not."""
    assert compile_expression(source)(THIS) == value


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("self.none", "no such key: none"),
        ("self.size < self.name", "no such overload"),
        ("self.parts[2]", "index out of bounds: 2"),
    ],
)
def test_expressions_without_a_value(source: str, words: str) -> None:
    """An object for which there is no answer is told so in CEL's words."""
    with pytest.raises(EvaluationError, match=f"^{words}$"):
        compile_expression(source)(THIS)


@pytest.mark.parametrize(
    "source",
    [
        "self.parts.all(part, part > 1)",
        "oldSelf.size == 1",
        "self.name.startsWith('a')",
        "self.size >",
        "1 2",
        "self.a ~ 1",
    ],
)
def test_the_rest_of_cel_is_not_read(source: str) -> None:
    """Macros, methods and transitions are known to be beyond this part, and so is what is no CEL at all."""
    with pytest.raises(UnreadableExpression):
        compile_expression(source)


def nested(count: int) -> Any:
    """Return an expression with many parentheses."""
    return "(" * count + "self" + ")" * count


def test_parentheses_nest() -> None:
    """Depth changes nothing."""
    assert compile_expression(nested(20))(7) == 7
