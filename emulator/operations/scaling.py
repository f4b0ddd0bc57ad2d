"""The scale subresource: the number of replicas, read and written without the rest of the object."""

from typing import Any

from pyroclast.emulator.operations import crud
from pyroclast.emulator.operations.cluster import Cluster
from pyroclast.emulator.operations.patches import PatchError, json_patch, merge_patch
from pyroclast.emulator.operations.strategies import invalid_value, section
from pyroclast.emulator.requests.calls import Call, read_body
from pyroclast.emulator.requests.wrongtypes import refuse_wrong_types
from pyroclast.emulator.statuses import bad_request, conflict, invalid, method_not_allowed, not_found_path

__all__ = ["scale"]

Object = dict[str, Any]


def scale(cluster: Cluster, call: Call) -> Object:
    """Get, replace or patch an object's scale; answers the scale.

    Raises:
        ApiError: 404, 405, 409 or 422.
    """
    paths = call.resource.scale
    if paths is None:
        raise not_found_path()
    record = cluster.record(call.resource, call.namespace, call.name)
    current = scale_of(record.object(), paths)
    if call.verb == "get":
        return current
    if call.verb == "update":
        desired = call.read()
    elif call.verb == "patch":
        desired = patched(current, call)
    else:
        raise method_not_allowed()
    refuse_wrong_types("autoscaling/v1", "Scale", desired)
    version = (desired.get("metadata") or {}).get("resourceVersion")
    if version and version != str(record.revision):
        raise conflict(call.resource.group, call.resource.plural, call.name)
    replicas = (desired.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or replicas < 0:
        fault = invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid("autoscaling", "Scale", call.name, [fault])
    tree = record.object()
    put_path(tree, paths["specReplicasPath"], replicas)
    tree["apiVersion"] = call.resource.group_version
    call.subresource = ""
    return scale_of(crud.update(cluster, call, record, tree).object(), paths)


def patched(current: Object, call: Call) -> Object:
    """The scale after a patch."""
    body = read_body(call.body, "application/json")
    try:
        if isinstance(body, list):
            return json_patch(current, body)
        return merge_patch(current, body)
    except PatchError as error:
        raise bad_request(str(error)) from error


def scale_of(tree: Object, paths: Object) -> Object:
    """An object's scale."""
    metadata = tree["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Object = {"replicas": get_path(tree, paths["statusReplicasPath"]) or 0}
    if selector := selector_text(get_path(tree, paths.get("labelSelectorPath", ""))):
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "spec": {"replicas": get_path(tree, paths["specReplicasPath"]) or 0},
        "status": status,
    }


def selector_text(selector: Any) -> str:
    """A label selector as text; custom resources have it as text already."""
    if isinstance(selector, str):
        return selector
    labels = (selector or {}).get("matchLabels", selector) or {}
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()) if isinstance(value, str))


def get_path(tree: Object, path: str) -> Any:
    """The value at a dotted path, or None."""
    value: Any = tree
    for step in path.strip(".").split("."):
        if not step or not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def put_path(tree: Object, path: str, value: Any) -> None:
    """Set the value at a dotted path, with the objects on the way."""
    *parents, last = path.strip(".").split(".")
    for parent in parents:
        tree = section(tree, parent)
    tree[last] = value
