"""Sets of fields: which manager owns what, as managedFields writes it (`FieldsV1`).

A field is the tuple of the steps that lead to it: `f:NAME` into an object, `k:{…}` to a list's item by its keys,
`v:VALUE` to a member of a set. A set of fields is a frozenset of such tuples, so union and difference come for free.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from emulator.layouts import Layout

__all__ = ["FieldPath", "Node", "closure", "decode_fields", "encode_fields", "nodes_of", "owned_fields", "path_text"]

FieldPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A place of an object."""

    value: Any
    """What stands there."""
    leaf: bool
    """Owned as a whole."""
    owned: bool
    """Owned by whoever applies it; the fields of a type that only hold others are not."""
    layout: Layout


def nodes_of(obj: Any, layout: Layout) -> dict[FieldPath, Node]:
    """All places of an object that may be owned, the object itself left out."""
    nodes: dict[FieldPath, Node] = {}
    _walk(obj, layout, (), nodes)
    nodes.pop((), None)
    return nodes


def owned_fields(nodes: dict[FieldPath, Node]) -> frozenset[FieldPath]:
    """What applying an object of these places owns."""
    return frozenset(path for path, node in nodes.items() if node.owned)


def _walk(value: Any, layout: Layout, path: FieldPath, nodes: dict[FieldPath, Node]) -> None:
    in_list = bool(path) and not path[-1].startswith("f:")
    if isinstance(value, dict) and not layout.atomic:
        nodes[path] = Node(value, leaf=not value, owned=not value or in_list or not layout.declared, layout=layout)
        for key, inner in value.items():
            _walk(inner, layout.child(key), (*path, f"f:{key}"), nodes)
    elif isinstance(value, list) and layout.list_type != "atomic":
        nodes[path] = Node(value, leaf=False, owned=in_list or not layout.declared, layout=layout)
        for place, item in enumerate(value):
            _walk(item, layout.item(), (*path, layout.item_name(item, place)), nodes)
    else:
        nodes[path] = Node(value, leaf=True, owned=True, layout=layout)


def closure(fields: Iterable[FieldPath]) -> set[FieldPath]:
    """The fields and every place on the way to them."""
    return {path[:depth] for path in fields for depth in range(1, len(path) + 1)}


def encode_fields(fields: Iterable[FieldPath]) -> dict[str, Any]:
    """Write a set as `FieldsV1`: nested objects, where `.` says that the place itself is meant too."""
    root: dict[str, Any] = {}
    members = set(fields)
    inner = {path[:depth] for path in members for depth in range(1, len(path))}
    for path in sorted(members):
        node = root
        for step in path:
            node = node.setdefault(step, {})
        if path in inner:
            node["."] = {}
    return root


def decode_fields(tree: Any) -> frozenset[FieldPath]:
    """Read `FieldsV1`; what is no such tree is the empty set."""
    found: set[FieldPath] = set()
    _collect(tree, (), found)
    found.discard(())
    return frozenset(found)


def _collect(tree: Any, path: FieldPath, found: set[FieldPath]) -> None:
    if not isinstance(tree, dict) or not tree:
        found.add(path)
        return
    for step, inner in tree.items():
        if step == ".":
            found.add(path)
        elif isinstance(step, str):
            _collect(inner, (*path, step), found)


def path_text(path: FieldPath) -> str:
    """Write a field for people: `.spec.containers[name="a"].image`."""
    return "".join(_step_text(step) for step in path)


def _step_text(step: str) -> str:
    mark, text = step[:2], step[2:]
    if mark == "v:":
        return f"[={text}]"
    if mark == "i:":
        return f"[{text}]"
    if mark == "k:" and re.match(r"\{.*\}\Z", text, re.DOTALL):
        keys = json.loads(text)
        return "[" + ",".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in keys.items()) + "]"
    return f".{text}"
