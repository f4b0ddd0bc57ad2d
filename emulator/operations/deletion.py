"""Deletion: preconditions, grace, finalizers, and what happens to those that depend on the object.

States of an object: live, going (deletionTimestamp set, waiting for grace or finalizers), gone. Only forward.
A pod on a node waits for the node's agent, which deletes it again with no grace; everything else goes at once
unless finalizers hold it.
"""

from dataclasses import dataclass
from typing import Any, Literal

from pyroclast.emulator.clock import parse_time
from pyroclast.emulator.operations.cluster import Cluster
from pyroclast.emulator.operations.crud import ephemeral, ordered
from pyroclast.emulator.requests.calls import Call
from pyroclast.emulator.requests.wrongtypes import refuse_wrong_types
from pyroclast.emulator.statuses import conflict, success
from pyroclast.emulator.storage.resources import Resource
from pyroclast.emulator.storage.store import Record

__all__ = ["DeleteOptions", "delete", "read_options"]

Object = dict[str, Any]
Propagation = Literal["Background", "Foreground", "Orphan"]
GC_FINALIZERS: dict[str, str] = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """Options of a deletion."""

    grace_seconds: int | None = None
    propagation: str = ""
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False


def read_options(call: Call, body: Any = None) -> DeleteOptions:
    """Return delete options from the body, or from the query if there is no body.

    Raises:
        ApiError: 400 or 422 for nonsense.
    """
    if body is None:
        body = call.read() if call.body else {}
        refuse_wrong_types("meta/v1", "DeleteOptions", body)
    preconditions = body.get("preconditions") or {}
    grace = body.get("gracePeriodSeconds")
    if grace is None and "gracePeriodSeconds" in call.query:
        grace = call.number("gracePeriodSeconds")
    orphan = body.get("orphanDependents")
    propagation = body.get("propagationPolicy") or call.query.get("propagationPolicy", "")
    if propagation not in ("", "Background", "Foreground", "Orphan"):
        supported = 'supported values: "Foreground", "Background", "Orphan", "nil"'
        detail = f'Unsupported value: "{propagation}": {supported}'
        raise call.wrong_option("propagationPolicy", "FieldValueNotSupported", detail)
    if orphan is not None and not propagation:
        propagation = "Orphan" if orphan else "Background"
    return DeleteOptions(
        grace_seconds=None if grace is None else max(0, int(grace)),
        propagation=propagation,
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        dry_run=call.dry_run or "All" in (body.get("dryRun") or ()),
    )


def delete(cluster: Cluster, resource: Resource, record: Record, options: DeleteOptions) -> tuple[Record, bool]:
    """Delete an object, or begin to; says whether it is gone.

    Raises:
        ApiError: 409 when a precondition does not hold.
    """
    check_preconditions(resource, record, options)
    tree = record.object()
    metadata = tree["metadata"]
    finalizers = finalizers_for(metadata.get("finalizers") or [], options.propagation)
    strategy = cluster.strategy(resource)
    strategy.check_delete(record)
    grace = strategy.grace_seconds(tree, options.grace_seconds)
    held = bool(finalizers) or strategy.is_held(tree)
    if not held and grace == 0:
        return remove(cluster, resource, record, options), True
    changed = mark(cluster, tree, grace, finalizers)
    if resource.plural == "namespaces" and not resource.group:
        tree.setdefault("status", {})["phase"] = "Terminating"
    if not changed:
        return record, False
    tree = ordered(tree, resource)
    if options.dry_run:
        return ephemeral(tree), False
    return cluster.collection(resource).put(tree), False


def remove(cluster: Cluster, resource: Resource, record: Record, options: DeleteOptions) -> Record:
    """Delete for good; a pod is first seen with its deletion time stamp."""
    tree = record.object()
    marked = cluster.strategy(resource).is_graceful and mark(cluster, tree, 0, tree["metadata"].get("finalizers") or [])
    if options.dry_run:
        return ephemeral(tree)
    collection = cluster.collection(resource)
    if marked:
        record = collection.put(tree)
    return collection.remove(record)


def check_preconditions(resource: Resource, record: Record, options: DeleteOptions) -> None:
    """Refuse when the object is not the one that is meant.

    Raises:
        ApiError: 409.
    """
    if options.uid and options.uid != record.uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({record.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(resource.group, resource.kind, record.name, why)
    if options.resource_version and options.resource_version != str(record.revision):
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the "
            f"ResourceVersion in record ({record.revision}). The object might have been modified"
        )
        raise conflict(resource.group, resource.kind, record.name, why)


def finalizers_for(finalizers: list[str], propagation: str) -> list[str]:
    """The finalizers after a propagation policy has had its say."""
    if not propagation:
        return finalizers
    kept = [one for one in finalizers if one not in GC_FINALIZERS.values()]
    added = GC_FINALIZERS.get(propagation)
    return [*kept, added] if added else kept


def mark(cluster: Cluster, tree: Object, grace: int, finalizers: list[str]) -> bool:
    """Set the deletion time stamps; a second deletion can only shorten the grace. Says whether anything changed."""
    metadata = tree["metadata"]
    changed = False
    if (metadata.get("finalizers") or []) != finalizers:
        metadata["finalizers"] = finalizers
        changed = True
    current = metadata.get("deletionGracePeriodSeconds")
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = cluster.clock.now(grace)
        if "generation" in metadata:
            metadata["generation"] += 1
    elif current is not None and grace < current:
        begun = parse_time(metadata["deletionTimestamp"]) - current
        metadata["deletionTimestamp"] = cluster.clock.at(begun + grace)
    else:
        return changed
    metadata["deletionGracePeriodSeconds"] = grace
    return True


def answer(resource: Resource, record: Record, gone: bool) -> Record | Object:
    """Return the answer of DELETE: the object while it terminates (a pod always), else a Status."""
    if not gone or resource.plural in ("pods", "namespaces", "services", "serviceaccounts", "resourcequotas"):
        return record
    details = {"name": record.name, "kind": resource.plural, "uid": record.uid}
    if resource.group:
        details["group"] = resource.group
    return success(details)
