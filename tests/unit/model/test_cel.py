"""Expressions of the Common Expression Language, with the types of Kubernetes."""

import math
from contextlib import suppress
from itertools import product
from typing import Any

import pytest

from pyroclast.model.cel.evaluation import compiled
from pyroclast.model.cel.functions import FUNCTIONS, METHODS
from pyroclast.model.cel.parser import CelError
from pyroclast.model.cel.values import NONE, Optional, Quantity, Semver

VARIABLES = {"a": {"name": "A100", "sizes": [1, 2, 3], "ok": True}, "n": 7}


def result(text: str) -> Any:
    """Evaluate an expression."""
    return compiled(text, tuple(VARIABLES)).evaluate(VARIABLES)[0]


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2 * 3 == 7 && 7 % -4 == 3 && -7 / 2 == -3",
        "0x10 == 16 && 1.5e1 == 15.0 && 1 == 1.0 && 2 > 1.5",
        "true != (1 == 2) && !(1 == 1 && 2 == 3)",
        "n > 5 ? true : false",
        'a.name == "A100" && a["name"] == "A100" && "name" in a && !("x" in a)',
        "has(a.name) && !has(a.x)",
        "2 in a.sizes && a.sizes[0] == 1 && size(a.sizes) == 3",
        "a.sizes.all(x, x > 0) && a.sizes.exists(x, x == 3) && a.sizes.exists_one(x, x == 2)",
        "a.sizes.filter(x, x > 1).map(x, x * 2) == [4, 6] && a.sizes.map(x, x > 1, x + 1) == [3, 4]",
        "a.sizes.all(i, x, x == i + 1) && a.exists(k, v, k == 'ok' && v)",
        "cel.bind(x, a.sizes, x[0] + x[1] == x[2])",
        'a.name.lowerAscii().matches("^a[0-9]+$") && a.name.startsWith("A") && "A" + "100" == a.name',
        '"a,b,c".split(",") == ["a", "b", "c"] && ["a", "b"].join("-") == "a-b" && "abc".substring(1, 2) == "b"',
        "a.?x.orValue(5) == 5 && a[?'name'].hasValue() && !a.sizes[?9].hasValue() && optional.of(1).value() == 1",
        "[?a.?x, ?a.?name] == ['A100'] && {?'x': a.?x} == {} && a.?name.optMap(x, x + '!').orValue('') == 'A100!'",
        'quantity("40Gi").isLessThan(quantity("80Gi")) && quantity("1k").compareTo(quantity("1000")) == 0',
        'quantity("1").add(quantity("500m")).isGreaterThan(quantity("1")) && quantity("2Ki").asInteger() == 2048',
        'isQuantity("5Mi") && !isQuantity("five") && quantity("1").sub(2).sign() == -1',
        'semver("1.10.0").isGreaterThan(semver("1.9.9")) && semver("1.0.0-rc.1").isLessThan(semver("1.0.0"))',
        'semver("v1.2", true).minor() == 2 && isSemver("1.2.3") && !isSemver("v1.2.3")',
        "sets.contains([1, 2], [2]) && sets.intersects([1], [1, 3]) && !sets.equivalent([1], [2])",
        'r"\\d" == "\\\\d" && "\\x41\\u0042" == "AB" && \'\'\'x"y\'\'\' == "x\\"y"',
        "int('12') == 12 && string(5) == '5' && double(2) == 2.0 && math.greatest(1, 3, 2) == 3",
        "// a comment\n true",
    ],
)
def test_expressions_that_are_true(text: str) -> None:
    """Operators, macros, optional values, and functions of Kubernetes."""
    assert result(text) is True


@pytest.mark.parametrize(
    "text", ["1 / 0 == 1 || true", "!(a.x == 1 && false)", "[0, 1].exists(x, 1 / x == 1)", "![1, 0].all(x, 1 / x > 1)"]
)
def test_an_operand_that_decides_outweighs_a_failure(text: str) -> None:
    """The order of operands does not matter."""
    assert result(text) is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.x", "no such key: x"),
        ("a.x == 1 || false", "no such key: x"),
        ("1 / 0", "division by zero"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("1 + 'a'", "no such operation on int and string"),
        ("n.x", "no field 'x' of a int"),
        ("n && true", "a int where a bool is expected"),
        ("true < 1", "no order of bool and int"),
        ('quantity("five")', "'five' is not a quantity"),
        ('semver("1")', "'1' is not a semantic version"),
        ('"a".matches("(")', "missing )"),
    ],
)
def test_evaluations_without_result(text: str, message: str) -> None:
    """The message names what is wrong."""
    with pytest.raises(CelError, match=message.replace("(", r"\(").replace(")", r"\)")):
        result(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unexpected end at character 1"),
        ("1 +", "unexpected end at character 4"),
        ("a ~ b", "unexpected '~' at character 3"),
        ("x == 1", "undeclared variable 'x'"),
        ("[1].all(x, x > y)", "undeclared variable 'y'"),
        ("n.nothing()", "there is no function 'nothing' with 0 arguments"),
        ("size(1, 2)", "there is no function 'size' with 2 arguments"),
        ("has(n)", "has\\(\\) takes the field of a map"),
        ("99999999999999999999", "is no 64-bit integer"),
        ("9" * 5000, "is no 64-bit integer"),
        ("0x" + "f" * 5000, "is no 64-bit integer"),
        (r"'\ud800'", "is no character"),
        ("'\\q'", "is no escape sequence"),
        ("(" * 100 + "1" + ")" * 100, "nested deeper than 60 levels"),
        ("1" + "+1" * 100, "nested deeper than 60 levels"),
        ("a" * 10241, "more than 10240 characters"),
    ],
)
def test_texts_that_are_no_expressions(text: str, message: str) -> None:
    """They are refused before any evaluation."""
    with pytest.raises(CelError, match=message):
        compiled(text, tuple(VARIABLES))


BIG = "[1,2,3,4,5,6,7,8,9,10]"
SHARED = "h == h"
for inner, outer in zip("gfedcba", "hgfedcb", strict=True):
    SHARED = f"cel.bind({outer}, [{inner}, {inner}, {inner}, {inner}], {SHARED})"


@pytest.mark.parametrize(
    "text",
    [
        f"{BIG}.all(a1, {BIG}.all(a2, {BIG}.all(a3, {BIG}.all(a4, {BIG}.all(a5, true)))))",
        SHARED,
        'cel.bind(s, "'
        + "x" * 5000
        + '", [1,2,3,4,5,6,7,8,9,10].all(i, [1,2,3,4,5].all(j, (s+s+s+s+s+s+s+s).size() > 0)))',
    ],
)
def test_an_evaluation_ends_after_a_number_of_steps(text: str) -> None:
    """Loops, lists with one element many times, and long texts are counted."""
    with pytest.raises(CelError, match="more than 20000 steps"):
        result(text)


def test_many_operands_of_a_logical_operator_are_no_depth() -> None:
    """Selectors list many values."""
    assert result(" || ".join(["n == 1"] * 500 + ["n == 7"])) is True


VALUES = [
    *(0, -1, 2**63 - 1, -(2**63), 0.5, math.inf, math.nan, True, None),
    *("", "a", "1", "²", "1.0.0", "1Gi", "9" * 64, "("),
    *([], [1, "a"], [[1]], {}, {"a": 1}, NONE, Optional(1), Quantity.of("1e300"), Semver.of("1.0.0")),
]
CALLS = [
    *(f"{name}({', '.join('abc'[:arity])})" for name, (_, sizes) in FUNCTIONS.items() for arity in sizes if arity < 4),
    *(f"a.{name}({', '.join('bc'[:arity])})" for name, (_, sizes) in METHODS.items() for arity in sizes if arity < 3),
    *(f"a {operator} b" for operator in ("+", "-", "*", "/", "%", "<", "<=", "==", "in", "&&")),
    *("a[b]", "a[?b]", "a.x", "a.?x", "has(a.x)", "!a", "-a", "{a: b}", "[?a]", "a.map(x, x)", "a.optFlatMap(x, x)"),
]


@pytest.mark.parametrize("text", CALLS)
def test_values_of_a_wrong_type_are_an_error_of_the_expression(text: str) -> None:
    """Each function and operator has a result or a CelError for values of all types: `dyn` hides types from checks."""
    names = tuple(name for name in "abc" if uses(text, name))
    program = compiled(text, names)
    for values in product(VALUES, repeat=len(names)):
        with suppress(CelError):
            program.evaluate(dict(zip(names, values, strict=True)))


def uses(text: str, name: str) -> bool:
    """Return whether an expression uses a variable."""
    try:
        compiled(text, tuple(each for each in "abc" if each != name))
    except CelError:
        return True
    return False
