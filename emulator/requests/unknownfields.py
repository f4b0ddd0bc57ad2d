"""Fields that a kind does not have, dropped, warned of or refused as `fieldValidation` asks; fields that say nothing.

An empty list, map or text is to the real server as if it were not there. Custom resources are pruned always, by their
schema, and metadata of all kinds are alike. Built-in kinds are looked through only when the request says how: kubectl
always does, a scheduler's bind does not, and need not pay.
"""

from typing import Any

from pyroclast.emulator.requests.calls import Call
from pyroclast.emulator.schemas.shapes import SCALARS, Field, Shape, shape_of
from pyroclast.emulator.statuses import bad_request

__all__ = ["report_unknown", "tidy"]

Object = dict[str, Any]

ALWAYS_SAYS = frozenset({"IntOrString", "Quantity", "Object", "Fields"})
"""Types whose zero is a value like others."""
COULD_BE_NOTHING = SCALARS - ALWAYS_SAYS
LISTS_OF_METADATA = ("annotations", "finalizers", "labels", "ownerReferences")


def tidy(call: Call, tree: Object) -> None:
    """Drop what a built-in kind does not have, and say so; drop what says nothing.

    Raises:
        ApiError: 400 under `fieldValidation=Strict`.
    """
    metadata = tree["metadata"]
    for key in LISTS_OF_METADATA:
        if key in metadata and not metadata[key]:
            del metadata[key]
    if call.resource.custom or "fieldValidation" not in call.query:
        return
    shape = shape_of(call.resource.group_version, call.resource.kind)
    if shape is not None:
        unknown: list[str] = []
        prune(tree, shape, "", unknown)
        report_unknown(call, unknown)


def prune(tree: Object, shape: Shape, path: str, unknown: list[str]) -> None:
    """Drop fields that a shape does not have, all the way down, and note their paths."""
    for key in list(tree):
        entry = shape.fields.get(key)
        here = f"{path}.{key}" if path else key
        if entry is None:
            if path or key not in ("kind", "apiVersion"):
                del tree[key]
                unknown.append(here)
            continue
        inner, value = entry.shape, tree[key]
        if says_nothing(entry, value):
            del tree[key]
        if inner is None:
            continue
        if entry.container == "[]" and isinstance(value, list):
            for place, item in enumerate(value):
                if isinstance(item, dict):
                    prune(item, inner, f"{here}[{place}]", unknown)
        elif isinstance(value, dict) and not entry.container:
            prune(value, inner, here, unknown)


def says_nothing(entry: Field, value: Any) -> bool:
    """Whether a field may as well be absent; of a pointer an empty value is one, and a required field is there."""
    if value is None:
        return True
    if value or entry.required:
        return False
    return bool(entry.container) or (not entry.pointer and entry.type_name in COULD_BE_NOTHING)


def report_unknown(call: Call, paths: list[str]) -> None:
    """Refuse unknown fields, warn of them, or say nothing.

    Raises:
        ApiError: 400 under `fieldValidation=Strict`.
    """
    if not paths:
        return
    mode, resource = call.query.get("fieldValidation", "Warn"), call.resource
    if mode == "Strict":
        listed = ", ".join(f'unknown field "{path}"' for path in paths)
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"strict decoding error: {listed}"
        )
    if mode == "Warn":
        call.warnings += [f'unknown field "{path}"' for path in paths]
