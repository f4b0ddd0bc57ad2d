"""Strategies: the rules of a kind for the creation, update and deletion of its objects.

The general rules (metadata, revisions, conflicts) are in `crud`. A strategy fills in what the server owns on
create, carries it over on update, and finds the faults of an object. Kinds without an own strategy get `PLAIN`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from pyroclast.emulator.clock import Clock
from pyroclast.emulator.requests.calls import Call
from pyroclast.emulator.statuses import cause
from pyroclast.emulator.storage.labels import (
    dns_label_faults,
    dns_subdomain_faults,
    label_key_faults,
    label_value_faults,
)
from pyroclast.emulator.storage.store import Record, Store

__all__ = ["PLAIN", "Strategy", "invalid_value", "metadata_faults", "required", "section"]

Object = dict[str, Any]
Faults = list[dict[str, str]]

LABEL_NAMED = frozenset({"namespaces", "services"})
FREELY_NAMED = frozenset({"roles", "rolebindings", "clusterroles", "clusterrolebindings", "events"})
COUNTING = frozenset(
    {
        "pods",
        "replicationcontrollers",
        "daemonsets",
        "deployments",
        "replicasets",
        "statefulsets",
        "jobs",
        "cronjobs",
        "poddisruptionbudgets",
        "priorityclasses",
        "ingressclasses",
        "ingresses",
        "networkpolicies",
        "customresourcedefinitions",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    }
)
"""Built-in kinds whose `metadata.generation` counts changes of the specification."""
STATUS_FROM_CLIENT = frozenset({"nodes"})
"""Kinds whose status may come with the creation, as the kubelet registers its node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Data that a strategy may read."""

    store: Store
    clock: Clock
    call: Call


def section(tree: Object, name: str) -> Object:
    """An object inside an object, made when it is missing or null."""
    inner = tree.get(name)
    if not isinstance(inner, dict):
        inner = tree[name] = {}
    return inner


def required(field: str, detail: str = "") -> dict[str, str]:
    """A missing field."""
    return cause(field, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value")


def invalid_value(field: str, value: Any, detail: str) -> dict[str, str]:
    """A field with a wrong value."""
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return cause(field, "FieldValueInvalid", f"Invalid value: {shown}: {detail}")


def forbidden_value(field: str, detail: str) -> dict[str, str]:
    """A field that must not be set or changed."""
    return cause(field, "FieldValueForbidden", f"Forbidden: {detail}")


def metadata_faults(tree: Object, plural: str) -> Faults:
    """The faults of an object's metadata."""
    metadata = tree["metadata"]
    name = metadata.get("name")
    faults: Faults = []
    if not name:
        return [required("metadata.name", "name or generateName is required")]
    if plural in LABEL_NAMED:
        faults += [invalid_value("metadata.name", name, text) for text in dns_label_faults(name)]
    elif plural not in FREELY_NAMED:
        faults += [invalid_value("metadata.name", name, text) for text in dns_subdomain_faults(name)]
    for key, value in (metadata.get("labels") or {}).items():
        faults += [invalid_value("metadata.labels", key, text) for text in label_key_faults(key)]
        faults += [invalid_value("metadata.labels", value, text) for text in label_value_faults(value)]
    for position, owner in enumerate(metadata.get("ownerReferences") or ()):
        faults += [
            required(f"metadata.ownerReferences[{position}].{field}", "must not be empty")
            for field in ("apiVersion", "kind", "name", "uid")
            if not owner.get(field)
        ]
    return faults


class Strategy:
    """The rules of a kind that has none of its own."""

    is_graceful: ClassVar[bool] = False
    """Whether a deletion shows as a change before the object goes, even when nothing is waited for."""

    def prepare_create(self, tree: Object, context: Context) -> None:
        """Fill in what the server owns."""
        resource = context.call.resource
        if "status" in resource.subresources and resource.plural not in STATUS_FROM_CLIENT:
            tree.pop("status", None)
        self.fill(tree, context)

    def fill(self, tree: Object, context: Context) -> None:
        """Set defaults; also called on update."""

    def prepare_update(self, new: Object, old: Object, context: Context) -> None:
        """Keep what this request may not change: the status, or all but the status."""
        call = context.call
        if call.subresource == "status":
            keep_all_but_status(new, old, custom=call.resource.custom)
        elif "status" in call.resource.subresources and call.subresource == "":
            restore(new, old, "status")

    def faults(self, new: Object, old: Object | None, context: Context) -> Faults:
        """Return the faults of the object; on update, compared with the old one."""
        del new, old, context
        return []

    def counts_generation(self, context: Context) -> bool:
        """Whether `metadata.generation` counts changes of the specification."""
        resource = context.call.resource
        return resource.custom or resource.plural in COUNTING

    def spec_changed(self, new: Object, old: Object, context: Context) -> bool:
        """Whether a change counts for the generation."""
        ignored = {"metadata", "kind", "apiVersion"}
        if "status" in context.call.resource.subresources:
            ignored.add("status")
        return any(new.get(key) != old.get(key) for key in {*new, *old} - ignored)

    def grace_seconds(self, tree: Object, asked: int | None) -> int:
        """Return the seconds for which a deletion waits for the end of the workload."""
        del tree, asked
        return 0

    def check_delete(self, record: Record) -> None:
        """Refuse to delete what must stay.

        Raises:
            ApiError: 403.
        """

    def is_held(self, tree: Object) -> bool:
        """Whether something other than finalizers in the metadata keeps an object that is going."""
        del tree
        return False


def keep_all_but_status(new: Object, old: Object, *, custom: bool) -> None:
    """Take only the status of an update (and, for built-in kinds, metadata)."""
    for key in [key for key in new if key not in ("metadata", "status")]:
        if key not in old:
            del new[key]
    for key, value in old.items():
        if key not in ("metadata", "status"):
            new[key] = value
    if custom:
        metadata = dict(old["metadata"])
        metadata["resourceVersion"] = new["metadata"].get("resourceVersion", metadata["resourceVersion"])
        if "managedFields" in new["metadata"]:
            metadata["managedFields"] = new["metadata"]["managedFields"]
        new["metadata"] = metadata
    else:
        for key in ("ownerReferences", "finalizers"):
            restore(new["metadata"], old["metadata"], key)


def restore(new: Object, old: Object, key: str) -> None:
    """Give a field its old value, or its old absence."""
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)


PLAIN = Strategy()
