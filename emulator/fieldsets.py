"""Sets of fields: which manager owns what, as managedFields writes it (`FieldsV1`).

A field is the tuple of the steps that lead to it: `f:NAME` into an object, `k:{…}` to a list's item by its keys,
`v:VALUE` to a member of a set. A set of fields is a frozenset of such tuples, so union and difference come for free.
"""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from pyroclast.emulator.layouts import Layout

__all__ = [
    "FieldPath",
    "added_fields",
    "changes",
    "closure",
    "decode_fields",
    "encode_added",
    "encode_fields",
    "owned_fields",
    "path_text",
]

FieldPath = tuple[str, ...]
_Counts = Callable[[Layout, bool, bool], bool]
"""Whether a place that may hold others counts as a field itself: its layout, is it a list's item, is it empty?"""


# --- the fields of an object -----------------------------------------------------------------------------------------


def owned_fields(obj: Any, layout: Layout) -> frozenset[FieldPath]:
    """What applying an object owns: its leaves, list items and free keys."""
    return _fields(obj, layout, lambda inner, is_item, empty: empty or is_item or not inner.declared)


def added_fields(obj: Any, layout: Layout) -> frozenset[FieldPath]:
    """What writing an object where nothing was owns: all but what such an object has from the start."""
    return _fields(obj, layout, _counts_when_added)


def _counts_when_added(layout: Layout, is_item: bool, empty: bool) -> bool:  # noqa: ARG001  # the shape of every rule
    return is_item or not layout.always_there


def _fields(obj: Any, layout: Layout, counts: _Counts) -> frozenset[FieldPath]:
    found: set[FieldPath] = set()
    _gather(obj, layout, (), counts, found)
    found.discard(())
    return frozenset(found)


def _gather(value: Any, layout: Layout, path: FieldPath, counts: _Counts, found: set[FieldPath]) -> None:
    if isinstance(value, dict) and not layout.atomic:
        if counts(layout, bool(path) and path[-1][0] != "f", not value):
            found.add(path)
        for key, inner in value.items():
            _gather(inner, layout.child(key), (*path, f"f:{key}"), counts, found)
    elif isinstance(value, list) and layout.list_type != "atomic":
        if counts(layout, bool(path) and path[-1][0] != "f", False):
            found.add(path)
        for place, item in enumerate(value):
            _gather(item, layout.item(), (*path, layout.item_name(item, place)), counts, found)
    else:
        found.add(path)


def changes(old: Any, new: Any, layout: Layout) -> tuple[frozenset[FieldPath], frozenset[FieldPath]]:
    """Fields added or modified, and fields removed, between two states of an object.

    Parts that are equal are not looked into, so that the cost is that of the difference.
    """
    changed: set[FieldPath] = set()
    removed: set[FieldPath] = set()
    _compare(old, new, layout, (), (changed, removed))
    for found in (changed, removed):
        found.discard(())
    return frozenset(changed), frozenset(removed)


def _compare(old: Any, new: Any, layout: Layout, path: FieldPath, found: tuple[set[FieldPath], set[FieldPath]]) -> None:
    if old == new:
        return
    before, after = _parts(old, layout), _parts(new, layout)
    if before is None and after is None:
        found[0].add(path)
        return
    if after is None and new is not None:
        found[0].add(path)
    for step, (value, inner) in (after or {}).items():
        if before is not None and step in before:
            _compare(before[step][0], value, inner, (*path, step), found)
        else:
            _gather(value, inner, (*path, step), _counts_when_added, found[0])
    for step, (value, inner) in (before or {}).items():
        if after is None or step not in after:
            _gather(value, inner, (*path, step), lambda _layout, _is_item, _empty: True, found[1])


def _parts(value: Any, layout: Layout) -> dict[str, tuple[Any, Layout]] | None:
    """What a value holds that is owned apart, by the steps into it; none for a leaf."""
    if isinstance(value, dict) and not layout.atomic:
        return {f"f:{key}": (inner, layout.child(key)) for key, inner in value.items()}
    if isinstance(value, list) and layout.list_type != "atomic":
        item_layout = layout.item()
        return {layout.item_name(item, place): (item, item_layout) for place, item in enumerate(value)}
    return None


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


def encode_added(obj: Any, layout: Layout) -> dict[str, Any]:
    """Write what `added_fields` finds, in one go: most objects are written once and then never compared."""
    tree = _added_tree(obj, layout, is_item=False)
    tree.pop(".", None)
    return tree


def _added_tree(value: Any, layout: Layout, *, is_item: bool) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    if isinstance(value, dict) and not layout.atomic:
        for key in sorted(value):
            inner = layout.child(key)
            below = _added_tree(value[key], inner, is_item=False)
            if below or not inner.always_there or _is_leaf(value[key], inner):
                tree[f"f:{key}"] = below
    elif isinstance(value, list) and layout.list_type != "atomic":
        inner = layout.item()
        for place, item in enumerate(value):
            tree[layout.item_name(item, place)] = _added_tree(item, inner, is_item=True)
    if tree and (is_item or not layout.always_there):
        tree["."] = {}
    return tree


def _is_leaf(value: Any, layout: Layout) -> bool:
    if isinstance(value, dict):
        return layout.atomic
    return not isinstance(value, list) or layout.list_type == "atomic"


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
