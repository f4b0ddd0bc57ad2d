"""The three kinds of patch: JSON patch (RFC 6902), merge patch (RFC 7396) and Kubernetes' strategic merge patch.

All return a new object, leave their inputs alone, and share no mutable part with them.
"""

from __future__ import annotations

from typing import Any

import jsonpatch
import jsonpointer

from pyroclast.emulator.schemas.shapes import Field, Shape, shape_of, shape_of_kind
from pyroclast.emulator.trees import copy_tree

__all__ = ["PatchError", "json_patch", "merge_patch", "strategic_merge_patch"]

Json = dict[str, Any]


class PatchError(Exception):
    """A patch that is malformed or does not fit the object; the remedy is another patch."""


def json_patch(obj: Json, operations: list[Any]) -> Json:
    """Apply a list of JSON patch operations, all or none.

    Raises:
        PatchError: An operation is malformed, misses its place, or a `test` fails.
    """
    if not isinstance(operations, list):
        raise PatchError("a JSON patch must be a list of operations")
    if not all(isinstance(operation, dict) for operation in operations):
        raise PatchError("a JSON patch operation must be an object")
    try:
        patched = jsonpatch.apply_patch(copy_tree(obj), copy_tree(operations))
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
        raise PatchError(f"the server rejected our request due to an error in our request: {error}") from error
    except (TypeError, AttributeError, KeyError, IndexError, ValueError) as error:
        # the library walks into scalars and non-string paths without a check of its own
        raise PatchError(f"a JSON patch operation does not fit the object: {error}") from error
    if not isinstance(patched, dict):
        raise PatchError("a JSON patch must leave an object")
    return patched


def merge_patch(obj: Json, patch: Json) -> Json:
    """Merge `patch` into `obj` by RFC 7396: null deletes, objects merge, everything else replaces.

    Raises:
        PatchError: The patch is not an object.
    """
    if not isinstance(patch, dict):
        raise PatchError("a merge patch must be an object")
    return _merge(obj, patch)


def _merge(target: Any, patch: Json) -> Json:
    merged = copy_tree(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _merge(merged.get(key), value)
        else:
            merged[key] = copy_tree(value)
    return merged


# --- strategic merge -------------------------------------------------------------------------------------------------

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_PRIMITIVES = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


def strategic_merge_patch(obj: Json, patch: Json, kind: str) -> Json:
    """Merge `patch` into an object of a built-in kind, lists by their merge keys.

    The directives `$patch: delete|replace|merge`, `$retainKeys`, `$deleteFromPrimitiveList/…` and
    `$setElementOrder/…` are obeyed. An unknown kind is merged with lists replaced, metadata by its own rules. An object
    without apiVersion, such as a part of one, is taken for the built-in kind of that name. The object stays as it is,
    and the result shares with it what the patch does not touch.

    Raises:
        PatchError: The patch is not an object, a directive is unknown or misplaced, or a merge key is missing.
    """
    if not isinstance(patch, dict):
        raise PatchError("a strategic merge patch must be an object")
    version = obj.get("apiVersion")
    shape = shape_of(version, kind) if isinstance(version, str) else shape_of_kind(kind)
    shape = shape or _metadata_only()
    return _merge_object(obj, patch, shape)


def _metadata_only() -> Shape:
    """The shape of a kind of which only the metadata is known."""
    namespace = shape_of("v1", "Namespace")
    if namespace is None:
        raise KeyError("shapes.txt lacks Namespace")
    return Shape(name="", section="", fields={"metadata": namespace.fields["metadata"]})


def _merge_object(target: Json, patch: Json, shape: Shape | None) -> Json:
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        content: Json = _content(patch)
        return content
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise PatchError(f"unknown patch type: {_go_text(directive)} in map: {_go_text(patch)}")
    merged = dict(target)  # values of the target are replaced, never changed in place
    _drop_unretained(merged, patch)
    for key, value in patch.items():
        if key.startswith(_DELETE_PRIMITIVES):
            _delete_primitives(merged, key.removeprefix(_DELETE_PRIMITIVES), value)
        elif not key.startswith("$"):
            _merge_field(merged, key, value, patch, shape)
    for key, value in patch.items():
        if key.startswith(_ORDER) and key.removeprefix(_ORDER) not in patch:
            _order_field(merged, key.removeprefix(_ORDER), value, shape)
    return merged


def _content(patch: Any) -> Any:
    """The patch's own content where nothing stands to be merged: nulls fall away, and all that carries directives."""
    if isinstance(patch, dict):
        return {
            key: _content(value) if isinstance(value, dict | list) else value
            for key, value in patch.items()
            if value is not None and not _is_directive(key) and not _is_directed(value)
        }
    if isinstance(patch, list):
        return [_content(item) for item in patch if not _is_directed(item)]
    return patch


def _is_directed(value: Any) -> bool:
    return isinstance(value, dict) and _DIRECTIVE in value


def _is_directive(key: str) -> bool:
    return key.startswith("$") and (key in (_DIRECTIVE, _RETAIN) or key.startswith((_DELETE_PRIMITIVES, _ORDER)))


def _go_text(value: Any) -> str:
    """A value as messages of the API server show it."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_go_text(inner)}" for key, inner in sorted(value.items())) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(_go_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return "<nil>" if value is None else str(value)


def _drop_unretained(merged: Json, patch: Json) -> None:
    retained = patch.get(_RETAIN)
    if retained is None:
        return
    if not isinstance(retained, list) or any(
        key not in retained and not _is_directive(key) for key, value in patch.items() if value is not None
    ):
        raise PatchError("invalid patch format of retainKeys")
    for key in list(merged):
        if key not in retained:
            del merged[key]


def _delete_primitives(merged: Json, name: str, values: Any) -> None:
    present = merged.get(name)
    if not isinstance(values, list):
        raise PatchError(f"the value of {_DELETE_PRIMITIVES}{name} must be a list")
    if isinstance(present, list):
        merged[name] = [item for item in present if item not in values]


def _merge_field(merged: Json, key: str, value: Any, patch: Json, shape: Shape | None) -> None:
    entry = shape.fields.get(key) if shape else None
    present = merged.get(key)
    if value is None:
        merged.pop(key, None)
    elif entry and entry.replaces:
        merged[key] = _content(value)
    elif isinstance(value, dict) and isinstance(present, dict):
        merged[key] = _merge_object(present, value, entry.shape if entry and not entry.container else None)
    elif isinstance(value, list) and isinstance(present, list) and entry and entry.merges:
        merged[key] = _merge_list(present, value, patch.get(_ORDER + key), entry)
    elif _is_directed(value):
        merged.pop(key, None)  # as the API server does: a directive without a counterpart leaves nothing
    else:
        merged[key] = _content(value)


def _merge_list(present: list[Any], patch: list[Any], order: Any, entry: Field) -> list[Any]:
    if not entry.merge_key:
        merged = [*present, *(copy_tree(item) for item in patch)]
        merged = [item for n, item in enumerate(merged) if item not in merged[:n]]
        return _in_order(merged, _order_keys(order, patch, entry), present, entry)
    items = [_checked(item, entry) for item in patch]
    plain = [item for item in items if _DIRECTIVE not in item]
    if any(item.get(_DIRECTIVE) == "replace" for item in items):
        return [_content(item) for item in plain]
    merged = _without_deleted(present, items, entry)
    for item in plain:
        _merge_item(merged, item, entry)
    return _in_order(merged, _order_keys(order, plain, entry), present, entry)


def _checked(item: Any, entry: Field) -> Json:
    if not isinstance(item, dict):
        raise PatchError(f"the patch's list {entry.name} must hold objects, not {item!r}")
    directive = item.get(_DIRECTIVE)
    if directive not in (None, "delete", "replace"):
        raise PatchError(f"unknown patch type: {_go_text(directive)} in map: {_go_text(item)}")
    if entry.merge_key not in item and directive != "replace":
        raise PatchError(f"map: {_go_text(item)} does not contain declared merge key: {entry.merge_key}")
    return item


def _without_deleted(present: list[Any], items: list[Json], entry: Field) -> list[Any]:
    gone = [item[entry.merge_key] for item in items if item.get(_DIRECTIVE) == "delete"]
    return [item for item in present if not (isinstance(item, dict) and item.get(entry.merge_key) in gone)]


def _merge_item(merged: list[Any], item: Json, entry: Field) -> None:
    for place, other in enumerate(merged):
        if isinstance(other, dict) and other.get(entry.merge_key) == item[entry.merge_key]:
            merged[place] = _merge_object(other, item, entry.shape)
            return
    merged.append(_content(item))


# --- order -----------------------------------------------------------------------------------------------------------


def _order_field(merged: Json, name: str, order: Any, shape: Shape | None) -> None:
    """Reorder a list that the patch names only by its order."""
    entry = shape.fields.get(name) if shape else None
    present = merged.get(name)
    keys = _order_keys(order, [], entry) if entry else []
    if entry and entry.merges and isinstance(present, list):
        merged[name] = _in_order(present, keys, present, entry)


def _order_keys(order: Any, patch: list[Any], entry: Field) -> list[Any]:
    """Return the order of the keys: `$setElementOrder` if given, else that of the patch's own items."""
    items = patch if order is None else order
    if not isinstance(items, list):
        raise PatchError(f"the value of {_ORDER}{entry.name} must be a list")
    keys = [_key_of(item, entry) for item in items]
    if entry.merge_key and None in keys:
        raise PatchError(f"an item of {_ORDER}{entry.name} does not contain declared merge key: {entry.merge_key}")
    return keys


def _key_of(item: Any, entry: Field) -> Any:
    if not entry.merge_key:
        return item
    return item.get(entry.merge_key) if isinstance(item, dict) else None


def _in_order(items: list[Any], order: list[Any], live: list[Any], entry: Field) -> list[Any]:
    """Order the items with keys in `order` by it, and insert the others by their order in the live list.

    A named item that the live list lacks goes before the unnamed ones still to come, as in the API server.
    """
    named = [item for item in items if _key_of(item, entry) in order]
    named.sort(key=lambda item: order.index(_key_of(item, entry)))
    others = [item for item in items if _key_of(item, entry) not in order]
    places = [_key_of(item, entry) for item in live]
    result: list[Any] = []
    while named and others:
        first, other = _key_of(named[0], entry), _key_of(others[0], entry)
        comes_first = first in places and other in places and places.index(other) < places.index(first)
        result.append(others.pop(0) if comes_first else named.pop(0))
    return result + named + others
