"""Server-side apply and the bookkeeping of field managers.

Each entry of `metadata.managedFields` says which fields a manager owns, through which operation. Applying merges a
manager's wishes into the object, takes away what it wished before and nobody else owns, and refuses to change what
others own unless forced. Updating takes ownership of whatever it changes.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyroclast.emulator.ages import moment
from pyroclast.emulator.fieldsets import (
    FieldPath,
    added_fields,
    changes,
    closure,
    decode_fields,
    encode_added,
    encode_fields,
    owned_fields,
    path_text,
)
from pyroclast.emulator.layouts import Layout, layout_of
from pyroclast.emulator.trees import copy_tree, text_at

__all__ = ["ApplyConflict", "ApplyError", "Conflict", "apply", "track"]

Json = dict[str, Any]

_METADATA = ("f:metadata",)
_UNMANAGED = frozenset(
    {("f:apiVersion",), ("f:kind",), _METADATA}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            "clusterName",
            "creationTimestamp",
            "generation",
            "managedFields",
            "name",
            "namespace",
            "resourceVersion",
            "selfLink",
            "uid",
        )
    }
)
"""What nobody owns: the server keeps it."""


class ApplyError(Exception):
    """A wish that cannot be merged: it names a list's key twice, or a field that its kind does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A field that another manager owns with another value."""

    manager: str
    """Name of the owner."""
    field: str
    """Path such as `.spec.replicas`."""
    owner: str = ""
    """The owner with its operation's details, as the API server prints it."""

    @property
    def message(self) -> str:
        """The conflict as a Status' cause says it."""
        return f"conflict with {self.owner or json.dumps(self.manager)}"


class ApplyConflict(Exception):  # noqa: N818  # the API calls it a conflict
    """Fields of others would change; the remedy is to force, or not to wish for them."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        self.conflicts = conflicts
        super().__init__(_conflict_text(conflicts))

    def causes(self) -> list[dict[str, str]]:
        """The conflicts as causes in the details of a Status."""
        return [
            {"reason": "FieldManagerConflict", "message": conflict.message, "field": conflict.field}
            for conflict in self.conflicts
        ]


def _conflict_text(conflicts: list[Conflict]) -> str:
    if len(conflicts) == 1:
        return f"Apply failed with 1 conflict: {conflicts[0].message}: {conflicts[0].field}"
    lines = []
    for message in sorted({conflict.message for conflict in conflicts}):
        lines.append(message.replace("conflict with", "conflicts with", 1) + ":")
        lines += [f"- {conflict.field}" for conflict in conflicts if conflict.message == message]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


# --- who owns what ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manager:
    """One entry of managedFields, without its fields."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""
    time: str = ""

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes two entries the same manager's; one who applies may change the version."""
        version = "" if self.operation == "Apply" else self.api_version
        return (self.name, self.operation, version, self.subresource)

    @property
    def shown(self) -> str:
        """The manager as conflicts name it."""
        text = json.dumps(self.name)
        if self.subresource:
            text += f" with subresource {json.dumps(self.subresource)}"
        if self.operation == "Update":
            text += f" using {self.api_version}"
        return text


class _Owners(dict[_Manager, frozenset[FieldPath]]):
    """Who owns which fields."""

    def entry(self, manager: _Manager) -> _Manager | None:
        """The entry that stands for this manager, if it has one."""
        return next((other for other in self if other.identity == manager.identity), None)

    def fields_of(self, manager: _Manager) -> frozenset[FieldPath]:
        """What a manager owns so far."""
        entry = self.entry(manager)
        return self[entry] if entry else frozenset()

    def take_from_others(self, manager: _Manager, fields: frozenset[FieldPath]) -> None:
        """Let no other manager own these fields."""
        for other in list(self):
            if other.identity != manager.identity:
                self[other] -= fields

    def give(self, manager: _Manager, fields: frozenset[FieldPath]) -> None:
        """Put these fields in the place of all that a manager owned; the time moves only if they differ."""
        entry = self.entry(manager)
        kept = fields - _UNMANAGED
        if entry is not None and self[entry] == kept and entry.api_version == manager.api_version:
            return
        if entry is not None:
            del self[entry]
        self[manager] = kept

    def touch(self, manager: _Manager) -> None:
        """Move a manager's time to the present."""
        entry = self.entry(manager)
        if entry is not None:
            self[manager] = self.pop(entry)

    def encoded(self) -> list[Json]:
        """The entries as they stand in the object, in the API server's order."""
        entries = [(manager, fields) for manager, fields in self.items() if fields]
        entries.sort(key=lambda entry: _entry_order(entry[0]))
        return [_encode_entry(manager, encode_fields(fields)) for manager, fields in entries]


def _entry_order(manager: _Manager) -> tuple[Any, ...]:
    time = moment(manager.time) or 0.0
    return (manager.operation, time, manager.name, manager.api_version, manager.subresource)


def _encode_entry(manager: _Manager, fields: Json) -> Json:
    entry: Json = {"manager": manager.name, "operation": manager.operation, "apiVersion": manager.api_version}
    if manager.time:
        entry["time"] = manager.time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": fields}
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def _decode_owners(entries: Any) -> _Owners | None:
    """Read managedFields; none when there are none that make sense."""
    if not isinstance(entries, list) or not entries:
        return None
    owners = _Owners()
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("operation") not in ("Apply", "Update"):
            return None
        manager = _Manager(
            name=str(entry.get("manager") or ""),
            operation=entry["operation"],
            api_version=str(entry.get("apiVersion") or ""),
            subresource=str(entry.get("subresource") or ""),
            time=str(entry.get("time") or ""),
        )
        owners[manager] = decode_fields(entry.get("fieldsV1") or {})
    return owners


def _managed_fields(obj: Mapping[str, Any] | None) -> Any:
    metadata = obj.get("metadata") if obj else None
    return metadata.get("managedFields") if isinstance(metadata, Mapping) else None


def _owners_in_request(before: Json | None, after: Json) -> _Owners:
    """The entries that count: the request's own if it has some, none if it resets them, else the live object's."""
    entries = _managed_fields(after)
    if entries == [{}]:
        return _Owners()
    owners = _decode_owners(entries)
    return owners if owners is not None else _decode_owners(_managed_fields(before)) or _Owners()


# --- updates ---------------------------------------------------------------------------------------------------------


def track(
    live_before: Json | None,
    after: Json,
    *,
    manager: str,
    operation: str,
    now: str,
    subresource: str = "",
    kind: str = "",
    schema: Json | None = None,
) -> list[Json]:
    """Work out managedFields after a create, an update or a patch.

    An object that nobody tracked from its creation on stays untracked, at no cost.

    Args:
        live_before: The object as it was; none when it is created.
        after: The object as it will be stored; its own managedFields count, as users may edit them.
        manager: Who writes.
        operation: `Update`; `Apply` is done by `apply`.
        now: The moment, RFC 3339.
        subresource: Through which subresource, empty for the object itself.
        kind: The object's kind.
        schema: Schema of a custom resource.

    Returns:
        The new list of entries.
    """
    owners = _owners_in_request(live_before, after)
    layout = layout_of(after.get("apiVersion"), kind or str(after.get("kind") or ""), schema)
    writer = _Manager(
        name=manager,
        operation=operation,
        api_version=str(after.get("apiVersion") or ""),
        subresource=subresource,
        time=now,
    )
    if not owners:
        return [] if live_before is not None else _created(after, layout, writer)
    changed, removed = changes(_unmanaged(live_before), _unmanaged(after), layout)
    owners.take_from_others(writer, changed | removed)
    owners.give(writer, (owners.fields_of(writer) - removed) | changed)
    if changed - _UNMANAGED:
        owners.touch(writer)
    return owners.encoded()


def _created(obj: Json, layout: Layout, writer: _Manager) -> list[Json]:
    """The one entry of an object that is new."""
    tree = encode_added(obj, layout)
    for path in _UNMANAGED:
        node = tree.get("f:metadata", {}) if len(path) > 1 else tree
        if len(path) > 1 or path != _METADATA:
            node.pop(path[-1], None)
    if not tree.get("f:metadata"):
        tree.pop("f:metadata", None)
    return [_encode_entry(writer, tree)] if tree else []


# --- apply -----------------------------------------------------------------------------------------------------------


def apply(
    live: Json | None,
    applied: Json,
    *,
    manager: str,
    force: bool,
    now: str,
    subresource: str = "",
    schema: Json | None = None,
    kind: str = "",
) -> Json:
    """Merge what a manager wishes into an object; none makes a new one.

    Args:
        live: The object as it is.
        applied: The manager's whole wish.
        manager: Who applies.
        force: Take fields from their owners instead of refusing.
        now: The moment, RFC 3339.
        subresource: Through which subresource, empty for the object itself.
        schema: Schema of a custom resource.
        kind: The object's kind.

    Returns:
        A new object with its managedFields; equal to the live one when nothing changed.

    Raises:
        ApplyConflict: Others own fields that would change.
        ApplyError: The wish cannot be merged.
    """
    version = str(applied.get("apiVersion") or "")
    layout = layout_of(version, kind or str(applied.get("kind") or ""), schema)
    before = _unmanaged(live)
    _refuse_unmergeable(applied, layout, kind)
    writer = _Manager(name=manager, operation="Apply", api_version=version, subresource=subresource, time=now)
    owners = _decode_owners(_managed_fields(live)) or _owners_before_apply(before, layout, writer)
    last = owners.fields_of(writer)
    wished = owned_fields(applied, layout)

    merged: Json = _merge(copy_tree(before), copy_tree(_unmanaged(applied)), layout)
    others = [fields for other, fields in owners.items() if other.identity != writer.identity]
    stays = closure(wished).union(*map(closure, others))
    _remove(merged, closure(last) - stays, layout, ())

    changed, removed = changes(before, merged, layout)
    if not force:
        _refuse_conflicts(owners, writer, changed)
    owners.take_from_others(writer, changed | removed)
    owners.give(writer, wished)
    if merged != before:
        owners.touch(writer)
    metadata = merged.setdefault("metadata", {})
    if isinstance(metadata, dict):
        metadata["managedFields"] = owners.encoded()
    return merged


def _unmanaged(obj: Json | None) -> Json:
    """The object without managedFields; what it holds is shared."""
    metadata = obj.get("metadata") if obj else None
    if obj is None or not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj or {}
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _owners_before_apply(before: Json, layout: Layout, writer: _Manager) -> _Owners:
    """An object that was never tracked belongs, as it is, to a manager of this name."""
    owners = _Owners()
    if before:
        version = str(before.get("apiVersion") or writer.api_version)
        first = replace(writer, name="before-first-apply", operation="Update", api_version=version, subresource="")
        owners.give(first, added_fields(before, layout))
    return owners


def _refuse_conflicts(owners: _Owners, writer: _Manager, changed: frozenset[FieldPath]) -> None:
    conflicts = [
        Conflict(manager=other.name, field=path_text(path), owner=other.shown)
        for other, fields in owners.items()
        if other.identity != writer.identity
        for path in sorted(fields & changed)
    ]
    if conflicts:
        raise ApplyConflict(conflicts)


def _refuse_unmergeable(wish: Json, layout: Layout, kind: str) -> None:
    fault = next(_faults(wish, layout, ""), "")
    if fault:
        name = f"{text_at(wish, 'metadata', 'namespace')}/{text_at(wish, 'metadata', 'name')}"
        version = text_at(wish, "apiVersion")
        group_kind = f"{version if '/' in version else '/' + version}, Kind={kind or wish.get('kind')}"
        raise ApplyError(f"failed to create typed patch object ({name}; {group_kind}): {fault}")


def _faults(value: Any, layout: Layout, path: str) -> Iterator[str]:
    if isinstance(value, dict) and not layout.atomic:
        for key, inner in value.items():
            if not layout.declares(key):
                yield f"{path}.{key}: field not declared in schema"
            yield from _faults(inner, layout.child(key), f"{path}.{key}")
    elif isinstance(value, list) and layout.list_type != "atomic":
        names = [layout.item_name(item, place) for place, item in enumerate(value)]
        for place, (name, item) in enumerate(zip(names, value, strict=True)):
            if name in names[:place]:
                yield f"{path}: duplicate entries for key {path_text((name,))}"
            if name.startswith("i:"):
                keys = " ".join(json.dumps(key) for key in layout.list_keys)
                yield (
                    f"{path}: element {place}: associative list with keys has an element that omits all key fields "
                    f"[{keys}] (and doesn't have default values for any key fields)"
                )
            yield from _faults(item, layout.item(), path + path_text((name,)))


def _merge(live: Any, wish: Any, layout: Layout) -> Any:
    if isinstance(live, dict) and isinstance(wish, dict) and not layout.atomic:
        merged = dict(live)
        for key, value in wish.items():
            merged[key] = _merge(live[key], value, layout.child(key)) if key in live else value
        return merged
    if isinstance(live, list) and isinstance(wish, list) and layout.list_type != "atomic":
        return _merge_items(live, wish, layout)
    return wish


def _merge_items(live: list[Any], wish: list[Any], layout: Layout) -> list[Any]:
    """Wished items in the wished order; the others stay before the wished item that followed them."""
    present = {layout.item_name(item, place): item for place, item in reversed(list(enumerate(live)))}
    waiting = {layout.item_name(item, place): item for place, item in enumerate(wish)}
    merged = []
    wished = set(waiting)
    for place, item in enumerate(live):
        name = layout.item_name(item, place)
        if name not in wished:
            merged.append(item)
        while name in waiting:
            first = next(iter(waiting))
            value = waiting.pop(first)
            merged.append(_merge(present[first], value, layout.item()) if first in present else value)
    return merged + list(waiting.values())


def _remove(value: Any, gone: set[FieldPath], layout: Layout, path: FieldPath) -> None:
    """Take the fields in `gone` out of a value, and their parents where nothing is left of them."""
    if isinstance(value, dict) and not layout.atomic:
        for key in list(value):
            inner = (*path, f"f:{key}")
            if inner in gone:
                del value[key]
            else:
                _remove(value[key], gone, layout.child(key), inner)
    elif isinstance(value, list) and layout.list_type != "atomic":
        kept = []
        for place, item in enumerate(value):
            inner = (*path, layout.item_name(item, place))
            if inner not in gone:
                _remove(item, gone, layout.item(), inner)
                kept.append(item)
        value[:] = kept
