"""Create, replace and patch: the general rules that hold for objects of every kind.

Between reading an object and storing it nothing is awaited, so no two requests can mix.
"""

import json
import random
import uuid
from collections.abc import Callable
from typing import Any

from pyroclast.emulator.operations.cluster import Cluster
from pyroclast.emulator.operations.patches import PatchError, json_patch, merge_patch, strategic_merge_patch
from pyroclast.emulator.operations.strategies import (
    Context,
    forbidden_value,
    invalid_value,
    metadata_faults,
    restore,
    section,
)
from pyroclast.emulator.requests.calls import Call, read_body
from pyroclast.emulator.requests.unknownfields import tidy
from pyroclast.emulator.requests.wrongtypes import refuse_wrong_types, wrong_type_in
from pyroclast.emulator.statuses import (
    ApiError,
    already_exists,
    bad_request,
    cause,
    conflict,
    forbidden,
    invalid,
    not_found,
    precondition,
)
from pyroclast.emulator.storage.resources import Resource
from pyroclast.emulator.storage.store import Collection, Record, encode, facets_of

__all__ = ["create", "ephemeral", "ordered", "patch", "replace", "update"]

Object = dict[str, Any]

SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5
NAME_ATTEMPTS = 8
LONGEST_PREFIX = 58
SYSTEM_METADATA = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
"""Fields of the metadata that clients cannot change."""
STRATEGIC = "application/strategic-merge-patch+json"
PATCH_TYPES = frozenset({"application/json-patch+json", "application/merge-patch+json", STRATEGIC})
"""Forms of patches; custom resources know no strategic one."""


def create(cluster: Cluster, call: Call, tree: Object) -> Record:
    """Create an object.

    Raises:
        ApiError: As the real server refuses it.
    """
    resource = call.resource
    check_type(tree, resource)
    refuse_wrong_types(resource.group_version, resource.kind, tree)
    metadata = section(tree, "metadata")
    place(metadata, call)
    if call.name and metadata.get("name") not in (None, call.name):
        raise wrong_name(metadata["name"], call.name)
    if call.name:
        metadata["name"] = call.name
    check_namespace(cluster, call, metadata.get("name", ""))
    if metadata.get("resourceVersion"):
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
    tidy(call, tree)
    begin(metadata, cluster)
    strategy, context = cluster.strategy(resource), Context(store=cluster.store, clock=cluster.clock, call=call)
    strategy.prepare_create(tree, context)
    metadata = tree["metadata"]
    if strategy.counts_generation(context):
        metadata["generation"] = 1
    collection = cluster.collection(resource)
    name_it(metadata, collection, call.namespace)
    faults = metadata_faults(tree, resource.plural) + strategy.faults(tree, None, context)
    if faults:
        raise invalid(resource.group, resource.kind, metadata.get("name", ""), faults)
    if collection.get(call.namespace, metadata["name"]) is not None:
        raise already_exists(resource.group, resource.plural, metadata["name"])
    return keep(cluster, call, tree)


def wrong_type(kind: str, version: str, resource: Resource) -> str:
    """Say that an object is of another kind than its path."""
    if resource.custom:
        return (
            f"the object provided is unrecognized (must be of type {resource.kind}): it is {version}, Kind={kind}, "
            f"and {resource.group_version}, Kind={resource.kind} is expected"
        )
    group = resource.group.partition(".")[0] or "core"
    short = version.rpartition("/")[2]
    return (
        f'{kind} in version "{short}" cannot be handled as a {resource.kind}: converting ({short}.{kind}) to '
        f"({group}.{resource.kind}): unknown conversion"
    )


def check_type(tree: Object, resource: Resource) -> None:
    """Refuse a body of another kind; fill in what it leaves out.

    Raises:
        ApiError: 400.
    """
    kind, version = tree.get("kind") or resource.kind, tree.get("apiVersion") or resource.group_version
    if kind != resource.kind or version != resource.group_version:
        raise bad_request(wrong_type(kind, version, resource))
    tree["kind"], tree["apiVersion"] = resource.kind, resource.group_version


def place(metadata: Object, call: Call) -> None:
    """Put an object into the namespace of its URL.

    Raises:
        ApiError: 400 when it names another one.
    """
    if not call.resource.namespaced:
        metadata.pop("namespace", None)
        return
    if metadata.get("namespace") not in (None, "", call.namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = call.namespace


def wrong_name(name: str, url_name: str) -> ApiError:
    """400 for an object sent to another one's URL."""
    return bad_request(f"the name of the object ({name}) does not match the name on the URL ({url_name})")


def check_namespace(cluster: Cluster, call: Call, name: str) -> None:
    """Refuse to create in a namespace that is missing or ending.

    Raises:
        ApiError: 404 or 403.
    """
    if not call.resource.namespaced:
        return
    record = cluster.core("namespaces").get("", call.namespace)
    if record is None:
        raise not_found("", "namespaces", call.namespace)
    if record.facets.get("status", {}).get("phase") == "Terminating":
        why = f"unable to create new content in namespace {call.namespace} because it is being terminated"
        reason = cause("metadata.namespace", "NamespaceTerminating", f"namespace {call.namespace} is being terminated")
        raise forbidden(call.resource.group, call.resource.plural, name, why, [reason])


def begin(metadata: Object, cluster: Cluster) -> None:
    """Give a new object the metadata that the server owns."""
    for key in (
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "generation",
        "resourceVersion",
        "managedFields",
    ):
        metadata.pop(key, None)
    metadata["uid"] = str(uuid.UUID(bytes=random.randbytes(16), version=4))
    metadata["creationTimestamp"] = cluster.clock.now()


def name_it(metadata: Object, collection: Collection, namespace: str) -> None:
    """Make a name from generateName, trying again when it is taken."""
    prefix = metadata.get("generateName")
    if metadata.get("name") or not prefix:
        return
    prefix = prefix[:LONGEST_PREFIX]
    for _ in range(NAME_ATTEMPTS):
        metadata["name"] = prefix + "".join(random.choices(SUFFIX_LETTERS, k=SUFFIX_LENGTH))
        if collection.get(namespace, metadata["name"]) is None:
            return


def keep(cluster: Cluster, call: Call, tree: Object) -> Record:
    """Store an object, or only show how it would be stored."""
    tree = ordered(tree, call.resource)
    if call.dry_run:
        return ephemeral(tree)
    return cluster.collection(call.resource).put(tree)


def ordered(tree: Object, resource: Resource) -> Object:
    """The object in its storage version, with kind and apiVersion in front (answers cut them off or swap them)."""
    head = {"kind": resource.kind, "apiVersion": resource.storage_group_version, "metadata": tree["metadata"]}
    return {**head, **tree, "apiVersion": resource.storage_group_version}


def ephemeral(tree: Object) -> Record:
    """A record that is shown and not kept."""
    metadata = tree["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    revision = int(metadata.get("resourceVersion") or 0)
    return Record(f"{namespace}/{name}", namespace, name, metadata["uid"], revision, encode(tree), facets_of(tree), ())


def replace(cluster: Cluster, call: Call, tree: Object) -> tuple[Record, bool]:
    """PUT: replace an object; says whether it was created.

    Raises:
        ApiError: As the real server refuses it.
    """
    resource = call.resource
    check_type(tree, resource)
    refuse_wrong_types(resource.group_version, resource.kind, tree)
    metadata = section(tree, "metadata")
    if metadata.get("name", call.name) != call.name:
        raise wrong_name(metadata["name"], call.name)
    metadata["name"] = call.name
    place(metadata, call)
    record = cluster.collection(resource).get(call.namespace, call.name)
    if record is None:
        if not resource.replaceable or call.subresource:
            raise not_found(resource.group, resource.plural, call.name)
        if metadata.get("uid"):
            key = f"/{resource.plural}/{call.namespace}/{call.name}"
            why = precondition("UID", metadata["uid"], "", key)
            raise conflict(resource.group, resource.plural, call.name, why)
        metadata.pop("resourceVersion", None)
        return create(cluster, call, tree), True
    if resource.custom and not metadata.get("resourceVersion"):
        fault = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        fault["message"] = "Invalid value: 0x0: must be specified for an update"
        raise invalid(resource.group, resource.kind, call.name, [fault])
    return update(cluster, call, record, tree), False


def update(cluster: Cluster, call: Call, record: Record, tree: Object) -> Record:
    """Bring an object into a new state by the rules of its kind.

    Args:
        cluster: Where.
        call: The request.
        record: The state that is replaced.
        tree: The new state, the caller's to give away.

    Raises:
        ApiError: 409 or 422.
    """
    resource = call.resource
    old = record.object()
    old["apiVersion"] = resource.group_version
    metadata, old_metadata = tree["metadata"], old["metadata"]
    check_versions(call, record, metadata)
    tidy(call, tree)
    for key in SYSTEM_METADATA:
        restore(metadata, old_metadata, key)
    metadata["resourceVersion"] = old_metadata["resourceVersion"]
    strategy, context = cluster.strategy(resource), Context(store=cluster.store, clock=cluster.clock, call=call)
    strategy.prepare_update(tree, old, context)
    metadata = tree["metadata"]
    metadata.pop("managedFields", None)
    strategy.fill(tree, context)
    if not call.subresource:
        faults = metadata_faults(tree, resource.plural) + finalizer_faults(metadata, old_metadata)
    else:
        faults = []
    faults += strategy.faults(tree, old, context)
    if faults:
        raise invalid(resource.group, resource.kind, call.name or record.name, faults)
    if tree == old:
        return record
    if strategy.counts_generation(context) and strategy.spec_changed(tree, old, context):
        metadata["generation"] = int(old_metadata.get("generation", 0)) + 1
    if is_finished(metadata) and not strategy.is_held(tree) and not call.dry_run:
        return cluster.collection(resource).remove(record, ordered(tree, resource))
    return keep(cluster, call, tree)


def check_versions(call: Call, record: Record, metadata: Object) -> None:
    """Refuse a change of another object or of an older state.

    Raises:
        ApiError: 409; 422 for a patch of another object.
    """
    resource = call.resource
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if uid and uid != record.uid and call.verb == "patch":
        # The fields of a patch are checked before the store is read.
        detail = f'Invalid value: "{uid}": field is immutable'
        raise invalid(resource.group, resource.kind, record.name, [cause("metadata.uid", "FieldValueInvalid", detail)])
    if uid and uid != record.uid:
        why = precondition("UID", uid, record.uid, f"/{resource.plural}/{record.key.strip('/')}")
        raise conflict(resource.group, resource.plural, record.name, why)
    if version and version != "0" and version != str(record.revision):
        raise conflict(resource.group, resource.plural, record.name)


def finalizer_faults(new: Object, old: Object) -> list[dict[str, str]]:
    """New finalizers on an object that is going."""
    if not old.get("deletionTimestamp"):
        return []
    added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
    if not added:
        return []
    shown = ", ".join(f'"{one}"' for one in added)
    detail = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{shown}}}"
    return [forbidden_value("metadata.finalizers", detail)]


def is_finished(metadata: Object) -> bool:
    """Whether an object was only waiting for its last finalizer."""
    waits = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    return bool(metadata.get("deletionTimestamp")) and not waits


def patch(cluster: Cluster, call: Call) -> Record:
    """PATCH in its three forms; there is no server-side apply.

    Raises:
        ApiError: As the real server refuses it.
    """
    resource = call.resource
    media = call.content_type.partition(";")[0].strip()
    record = cluster.collection(resource).get(call.namespace, call.name)
    if media not in PATCH_TYPES or (resource.custom and media == STRATEGIC):
        raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    if record is None:
        raise not_found(resource.group, resource.plural, call.name)
    body = read_body(call.body, "application/json")
    live = record.object()
    live["apiVersion"] = resource.group_version
    try:
        tree = patched(live, body, media, resource)
    except PatchError as error:
        raise patch_refused(error, media) from error
    if fault := wrong_type_in(resource.group_version, resource.kind, tree):
        detail = f"Invalid value: {json.dumps(encode(tree).decode())}: {fault}"
        raise invalid("", "", "", [cause("patch", "FieldValueInvalid", detail)])
    if not isinstance(tree.get("metadata"), dict):
        raise bad_request("the patched object has no metadata")
    metadata = tree["metadata"]
    if tree.get("kind") != resource.kind or tree.get("apiVersion") != resource.group_version:
        raise bad_request("apiVersion and kind of the object cannot be changed by a patch")
    if metadata.get("name") != record.name:
        raise wrong_name(str(metadata.get("name")), record.name)
    return update(cluster, call, record, tree)


def patch_refused(error: PatchError, media: str) -> ApiError:
    """The answer to a patch that cannot be applied: 422 for JSON patch, 400 for the others."""
    if media == "application/json-patch+json":
        return ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {})
    return bad_request(str(error))


def patched(live: Object, body: Any, media: str, resource: Resource) -> Object:
    """Apply one of the three classic patches.

    Raises:
        ApiError: 400 for a body of the wrong shape.
        PatchError: From the patch itself.
    """
    if media == "application/json-patch+json":
        if not isinstance(body, list):
            raise bad_request(
                "error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch"
            )
        return json_patch(live, body)
    if not isinstance(body, dict):
        raise bad_request("error decoding patch: the body is no object")
    if media == "application/merge-patch+json":
        return in_part(live, body, merge_patch)
    return in_part(live, body, lambda part, patch: strategic_merge_patch(part, patch, resource.kind))


def in_part(live: Object, body: Object, merge: Callable[[Object, Object], Object]) -> Object:
    """Merge into the touched sections alone: a patch of the status need not copy the specification."""
    if any(key.startswith("$") for key in body):
        return merge(live, body)
    touched = {key: live[key] for key in live if key in body}
    merged = merge(touched, body)
    return {**{key: value for key, value in live.items() if key not in touched}, **merged}
