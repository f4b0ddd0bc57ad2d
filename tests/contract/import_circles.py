"""Which modules of the product import each other in a circle; imports for type checking count like all others."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

__all__ = ["PACKAGES", "circles", "imports_of"]

PACKAGES = ("actions", "cache", "controllers", "emulator", "framework", "kube", "model", "plugins", "scheduler")


def imports_of(root: Path, packages: Sequence[str] = PACKAGES) -> dict[str, set[str]]:
    """Return for each module below some folders, named without `pyroclast.`, the modules among them that it imports."""
    paths = {_name(path.relative_to(root)): path for package in packages for path in (root / package).rglob("*.py")}
    return {
        name: {found for each in _imported(path) if (found := _known(each, paths)) is not None and found != name}
        for name, path in paths.items()
    }


def circles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the modules that reach each other, each circle sorted."""
    reached = {name: _reached(name, imports) for name in imports}
    found = {
        tuple(sorted({name, *(other for other in reached[name] if name in reached[other])}))
        for name in imports
        if name in reached[name]
    }
    return [list(each) for each in sorted(found)]


def _reached(start: str, imports: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    left = [start]
    while left:
        fresh = imports[left.pop()] - reached
        reached |= fresh
        left += fresh
    return reached


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path) -> Iterator[str]:
    """Return dotted names that a file imports; of `from a import b` both `a.b` and what `a` says of it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{each.name}" for each in node.names)


def _known(name: str, paths: Mapping[str, Path]) -> str | None:
    """Return the module that a dotted name is, or is in; None for a module outside of the folders."""
    name = name.removeprefix("pyroclast.")
    return next((each for each in (name, name.rpartition(".")[0]) if each in paths), None)
