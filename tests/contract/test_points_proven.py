"""Each extension point has a test in which a plugin of the test registers a function for it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Point

TESTS = Path(__file__).parents[1]
NAMES = [name for name, value in vars(contract).items() if isinstance(value, Point)]
REGISTERING = {"saying", "Saying", "register"}
"""What a test plugin is made with, or registers by."""


def registered(text: str) -> set[str]:
    """Return the points that a test module registers functions for.

    A point that stands in the parameters of a test counts where the module registers a function for its `point`.
    """
    tree = ast.parse(text)
    found = set(map(_name, _first_words(tree)))
    if "point" in found:
        found |= set(map(_name, _parameters(tree)))
    return found & set(NAMES)


def _first_words(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what is named first where a plugin registers, and the keys of mappings given there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in REGISTERING:
            for argument in node.args:
                yield from argument.keys if isinstance(argument, ast.Dict) else [argument]  # type: ignore[misc]  # a key that is None unpacks a mapping


def _parameters(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield everything in the lists of `parametrize("point", [...])`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) == "parametrize" and _is_text(node.args[0], "point"):
            yield from ast.walk(node.args[1])


def _is_text(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _name(node: ast.AST | None) -> str:
    """Return the last word of a name, as `JOB_ORDER` of `contract.JOB_ORDER`."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


@pytest.fixture(scope="module")
def proven() -> set[str]:
    """The points that any test registers a function for."""
    return set().union(*(registered(file.read_text()) for file in TESTS.rglob("test_*.py")))


@pytest.mark.parametrize("name", NAMES)
def test_a_test_plugin_proves_the_point(name: str, proven: set[str]) -> None:
    """A new point comes with its proof, in tests/unit/framework/extension/test_points_*.py for most."""
    assert name in proven


def test_naming_a_point_is_no_proof() -> None:
    """Only what is registered counts."""
    assert registered("contract.JOB_ORDER") == set()
    assert registered("session.extensions.functions(contract.JOB_ORDER)") == set()
    assert registered("saying(contract.JOB_ORDER, key)") == {"JOB_ORDER"}
    assert registered("Saying('x', {contract.JOB_READY: yes, **more})") == {"JOB_READY"}
    assert registered("session.extensions.register(contract.PREDICATE, self.name, judge)") == {"PREDICATE"}
    parameters = "@pytest.mark.parametrize('point', [contract.JOB_VALID])\ndef test(point): "
    assert registered(parameters + "ask(point)") == set()
    assert registered(parameters + "saying(point, no)") == {"JOB_VALID"}
