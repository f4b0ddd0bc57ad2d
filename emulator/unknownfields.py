"""Fields that a kind does not have: dropped, warned of or refused, as `fieldValidation` asks.

Custom resources are pruned always, by their schema. Built-in kinds are looked through only when the request says
how: kubectl always does, a scheduler's bind does not, and need not pay.
"""

from typing import Any

from emulator.calls import Call
from emulator.shapes import Shape, shape_of
from emulator.statuses import bad_request

__all__ = ["drop_unknown", "report_unknown"]

Object = dict[str, Any]


def drop_unknown(call: Call, tree: Object) -> None:
    """Drop what a built-in kind does not have, and say so.

    Raises:
        ApiError: 400 under `fieldValidation=Strict`.
    """
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
        if inner is None:
            continue
        if entry.container == "[]" and isinstance(value, list):
            for place, item in enumerate(value):
                if isinstance(item, dict):
                    prune(item, inner, f"{here}[{place}]", unknown)
        elif isinstance(value, dict) and not entry.container:
            prune(value, inner, here, unknown)


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
