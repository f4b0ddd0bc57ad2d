"""Each kind of the API has one struct and one resource, and a name of a class means one thing in all the folders."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyroclast.kube.api import resources
from pyroclast.kube.api.resources import Resource

ROOT = Path(__file__).parents[2]
FOLDERS = ("actions", "cache", "controllers", "framework", "kube", "model", "plugins", "pyroclast", "scheduler")
"""The product only. The emulator has the words of an API server for its own parts."""
STRUCTS = ("model/api", "model/wire")

_OBJECT = "the scheduler's view of the object, with amounts and references resolved"
_PLUGIN = "plugins have the names that configurations give them"
EXCEPTIONS = {
    "Job": _OBJECT,
    "Node": _OBJECT,
    "Queue": _OBJECT,
    "ElasticQuota": _PLUGIN,
    "Gang": _PLUGIN,
    "NodeGroup": _PLUGIN,
    "ResourceQuota": _PLUGIN,
}
"""Names that may be declared twice, and why."""


def product_files() -> Iterator[Path]:
    """List the product's modules."""
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def classes_by_name() -> dict[str, set[str]]:
    """Return the modules in which each public class is declared, as paths."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for file in product_files():
        for statement in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_"):
                found[statement.name].add(file.relative_to(ROOT).as_posix())
    return found


def declared_twice(found: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return names of classes that stand in two folders, or among the API's structs and once more."""
    return {
        name: files
        for name, files in found.items()
        if len(files) > 1
        and (len({file.split("/")[0] for file in files}) > 1 or any(file.startswith(STRUCTS) for file in files))
    }


def test_a_class_name_is_declared_once() -> None:
    """No name is declared twice, but for those that have a reason."""
    twice = declared_twice(classes_by_name())

    assert {name: files for name, files in twice.items() if name not in EXCEPTIONS} == {}
    assert EXCEPTIONS.keys() - twice.keys() == set(), "exceptions that are not needed"


def test_a_second_struct_is_found() -> None:
    """The rule sees a struct of the API that a controller, or the model itself, declares again."""
    again = {"Pod": {"model/wire/core.py", "controllers/runtime/pods.py"}, "Job": {"model/api/batch.py", "model/x.py"}}

    assert declared_twice(again | {"Row": {"scheduler/a.py", "scheduler/b.py"}}) == again


def test_resources_are_declared_in_one_table() -> None:
    """`Resource(...)` is called in `kube/api/resources.py` alone."""
    calls = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in product_files()
        if file != ROOT / "kube/api/resources.py"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Resource"
    ]

    assert calls == []


@pytest.mark.parametrize("what", ["path", "struct"])
def test_a_kind_stands_once_in_the_table(what: str) -> None:
    """No two resources share a path of the API, or a struct."""
    table: list[Resource[Any]] = [each for each in vars(resources).values() if isinstance(each, Resource)]
    keys = Counter(each.collection() if what == "path" else each.struct for each in table)

    assert [key for key, times in keys.items() if times > 1] == []
