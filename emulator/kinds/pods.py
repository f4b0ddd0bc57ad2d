"""Pods: what the server fills in, what may change, and how a pod is bound to its node."""

from typing import Any

from pyroclast.emulator.kinds.podgroups import scheduling_group_faults
from pyroclast.emulator.kinds.priorities import admit_priority
from pyroclast.emulator.kinds.quantities import amount, requests_of
from pyroclast.emulator.operations.cluster import Cluster
from pyroclast.emulator.operations.crud import check_type
from pyroclast.emulator.operations.strategies import (
    Context,
    Faults,
    Strategy,
    forbidden_value,
    invalid_value,
    required,
    restore,
    section,
)
from pyroclast.emulator.requests.calls import Call
from pyroclast.emulator.requests.wrongtypes import refuse_wrong_types
from pyroclast.emulator.statuses import ApiError, bad_request, conflict, invalid, precondition
from pyroclast.emulator.storage.labels import dns_label_faults
from pyroclast.emulator.storage.store import Record
from pyroclast.emulator.trees import items_at, value_at

__all__ = ["PodStrategy", "bind"]

Object = dict[str, Any]

DEFAULT_GRACE_SECONDS = 30
POD_DEFAULTS: Object = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": DEFAULT_GRACE_SECONDS,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
}
CONTAINER_DEFAULTS: Object = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
ADMITTED = ("priority", "preemptionPolicy", "serviceAccountName", "serviceAccount")
MUTABLE_SPEC = frozenset(
    {"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates", "ephemeralContainers"}
)
IMMUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


class PodStrategy(Strategy):
    """Defaults, admission and validation of pods."""

    is_graceful = True

    def prepare_create(self, tree: Object, context: Context) -> None:
        """Give a pod its account, its priority and its first status."""
        spec = section(tree, "spec")
        spec.setdefault("serviceAccountName", "default")
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
        self.fill(tree, context)
        admit_priority(context, tree, spec)
        status: Object = {"phase": "Pending", "qosClass": qos_class(spec)}
        if spec.get("schedulingGates"):
            status["conditions"] = [gated(context.clock.now())]
        tree["status"] = status

    def prepare_update(self, new: Object, old: Object, context: Context) -> None:
        """Keep the status or all but the status; what admission gave stays with a pod that is sent without it."""
        super().prepare_update(new, old, context)
        if context.call.subresource == "status":
            restore(section(new, "status"), old.get("status") or {}, "qosClass")
            return
        spec = section(new, "spec")
        for key in ADMITTED:
            if spec.get(key) is None:
                restore(spec, old["spec"], key)

    def fill(self, tree: Object, context: Context) -> None:
        """Set the defaults of a specification on every write."""
        if context.call.subresource:
            return
        spec = section(tree, "spec")
        for key, value in POD_DEFAULTS.items():
            spec.setdefault(key, value)
        spec.setdefault("securityContext", {})
        fill_tolerations(spec)
        for containers in (spec.get("containers"), spec.get("initContainers")):
            for container in containers or () if isinstance(containers, list) else ():
                if isinstance(container, dict):
                    fill_container(container)

    def faults(self, new: Object, old: Object | None, context: Context) -> Faults:
        """Containers on create; on update, fields that cannot change."""
        if context.call.subresource:
            return []
        spec = new.get("spec")
        if not isinstance(spec, dict):
            return [required("spec.containers")]
        on_create = (*_name_faults(spec), *container_faults(spec), *scheduling_group_faults(spec))
        return list(on_create) if old is None else change_faults(spec, old["spec"])

    def grace_seconds(self, tree: Object, asked: int | None) -> int:
        """Return the requested seconds, else those of the pod; 0 for a pod without a node or one that has ended."""
        if not tree["spec"].get("nodeName") or tree.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            return 0
        if asked is not None:
            return asked
        seconds = tree["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS)
        return max(1, int(seconds)) if seconds else 0


def fill_container(container: Object) -> None:
    """Set the defaults of a container."""
    for key, value in CONTAINER_DEFAULTS.items():
        container.setdefault(key, value)
    image = str(container.get("image", ""))
    tag = image.rpartition("/")[2].partition(":")[2]
    container.setdefault("imagePullPolicy", "Always" if tag in ("", "latest") and "@" not in image else "IfNotPresent")
    resources = container.setdefault("resources", {})
    if isinstance(resources, dict) and isinstance(limits := resources.get("limits"), dict):
        requests = resources.setdefault("requests", {})
        for name, limit in limits.items():
            requests.setdefault(name, limit)
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")


def fill_tolerations(spec: Object) -> None:
    """Add the two tolerations that admission gives to every pod, again when an update leaves them out."""
    tolerations = spec.get("tolerations") or []
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(tolerates_no_execute(one, key) for one in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    spec["tolerations"] = tolerations


def tolerates_no_execute(toleration: Object, key: str) -> bool:
    """Whether a toleration speaks of a taint with NoExecute already."""
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")


def qos_class(spec: Object) -> str:
    """Guaranteed, Burstable or BestEffort, by requests and limits of cpu and memory."""
    asked = limited = False
    guaranteed = True
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        if not isinstance(container, dict):
            continue
        requests, limits = requests_of(container, "requests"), requests_of(container, "limits")
        asked, limited = asked or bool(requests), limited or bool(limits)
        guaranteed = guaranteed and len(limits) == 2 and requests == limits
    if not asked and not limited:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def gated(now: str) -> Object:
    """The condition of a pod that waits for its scheduling gates."""
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def container_faults(spec: Object) -> Faults:
    """Missing or misnamed containers."""
    containers = spec.get("containers")
    if not isinstance(containers, list) or not containers:
        return [required("spec.containers")]
    faults: Faults = []
    names: set[str] = set()
    for group in ("initContainers", "containers"):
        for position, container in enumerate(spec.get(group) or ()):
            path = f"spec.{group}[{position}]"
            if not isinstance(container, dict):
                faults.append(invalid_value(path, container, "must be an object"))
                continue
            faults += one_container(path, container, names)
    if spec["restartPolicy"] not in ("Always", "OnFailure", "Never"):
        supported = 'supported values: "Always", "Never", "OnFailure"'
        faults.append(
            {
                "field": "spec.restartPolicy",
                "reason": "FieldValueNotSupported",
                "message": f'Unsupported value: "{spec["restartPolicy"]}": {supported}',
            }
        )
    return faults


def one_container(path: str, container: Object, names: set[str]) -> Faults:
    """The faults of one container; its name joins those taken."""
    faults: Faults = []
    name = container.get("name")
    if not name:
        faults.append(required(f"{path}.name"))
    else:
        faults += _label_name_faults(f"{path}.name", name, names)
    if not container.get("image"):
        faults.append(required(f"{path}.image"))
    return faults + amount_faults(f"{path}.resources", container["resources"])


def amount_faults(path: str, resources: Object) -> Faults:
    """Amounts below nothing, and requests above limits."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    faults = [
        invalid_value(f"{path}.{which}[{name}]", str(word), "must be greater than or equal to 0")
        for which, amounts in (("limits", limits), ("requests", requests))
        for name, word in amounts.items()
        if str(word).startswith("-") and (amount(str(word)) or 0) < 0
    ]
    for name, word in requests.items():
        limit = limits.get(name, word)
        if limit != word and (amount(str(word)) or 0) > (amount(str(limit)) or 0):
            detail = f"must be less than or equal to {name} limit of {limit}"
            faults.append(invalid_value(f"{path}.requests", str(word), detail))
    return faults


def change_faults(spec: Object, old: Object) -> Faults:
    """Return the faults of an update that changes immutable fields of a pod's specification."""
    faults: Faults = []
    if comparable(spec) != comparable(old):
        faults.append(forbidden_value("spec", IMMUTABLE))
    tolerations = spec.get("tolerations") or []
    if any(one not in tolerations for one in old.get("tolerations") or ()):
        faults.append(
            forbidden_value("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
        )
    gates, old_gates = spec.get("schedulingGates") or [], old.get("schedulingGates") or []
    added = [one.get("name") for one in gates if one not in old_gates]
    if added:
        faults.append(
            forbidden_value(
                "spec.schedulingGates", f"only deletion is allowed, but found new scheduling gate '{added[0]}'"
            )
        )
    return faults


def comparable(spec: Object) -> Object:
    """The part of a specification that cannot change; a gated pod may still narrow its placement."""
    kept = {key: value for key, value in spec.items() if key not in MUTABLE_SPEC}
    if spec.get("schedulingGates"):
        kept.pop("nodeSelector", None)
        kept.pop("affinity", None)
    for group in ("containers", "initContainers"):
        if group in kept:
            kept[group] = [{**one, "image": ""} for one in kept[group]]
    return kept


def bind(cluster: Cluster, call: Call, tree: Object) -> Object:
    """POST to `binding`: give a pod its node, and the binding's annotations and labels.

    Raises:
        ApiError: 404, 409 when the pod is bound, going or another one, 422 for a binding without a node.
    """
    metadata, target = tree.get("metadata") or {}, tree.get("target") or {}
    if not isinstance(metadata, dict) or not isinstance(target, dict):
        refuse_wrong_types("v1", "Binding", tree)
    node = target.get("name")
    if not isinstance(node, str) or "labels" in metadata or "annotations" in metadata:  # the rest is only compared
        refuse_wrong_types("v1", "Binding", tree)
    if not node:
        raise ApiError(500, "", "target.name: Required value")
    if target.get("kind", "Node") not in ("", "Node"):
        detail = 'supported values: "Node", "<empty>"'
        message = f'Unsupported value: "{target["kind"]}": {detail}'
        raise invalid(
            "", "Binding", call.name, [{"field": "target.kind", "reason": "FieldValueNotSupported", "message": message}]
        )
    if metadata.get("name") != call.name:
        raise bad_request("name in URL does not match name in Binding object")
    pods = cluster.core("pods")
    record = pods.get(call.namespace, call.name)
    if record is None:
        from_resource = call.resource
        raise ApiError(
            404, "NotFound", f'pods "{call.name}" not found', {"name": call.name, "kind": from_resource.plural}
        )
    check_identity(record, metadata)
    pod = record.object()
    check_bindable(pod)
    bound = bound_pod(pod, node, metadata, cluster.clock.now())
    if not call.dry_run:
        pods.put(bound)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def check_identity(record: Record, metadata: Object) -> None:
    """The UID and resourceVersion that a binding may name.

    Raises:
        ApiError: 409.
    """
    key = f"/pods/{record.key}"
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if uid and uid != record.uid:
        raise conflict("", "pods", record.name, precondition("UID", uid, record.uid, key))
    if version and version != str(record.revision):
        why = precondition("ResourceVersion", version, str(record.revision), key)
        raise conflict("", "pods", record.name, why)


def check_bindable(pod: Object) -> None:
    """Refuse pods that are going, bound or gated.

    Raises:
        ApiError: 409.
    """
    name = pod["metadata"]["name"]
    if pod["metadata"].get("deletionTimestamp"):
        raise conflict("", "pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host")
    if node := pod["spec"].get("nodeName"):
        raise conflict("", "pods/binding", name, f'pod {name} is already assigned to node "{node}"')
    if pod["spec"].get("schedulingGates"):
        raise conflict("", "pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")


def bound_pod(pod: Object, node: str, binding_metadata: Object, now: str) -> Object:
    """The pod after its binding."""
    pod["spec"]["nodeName"] = node
    for key in ("annotations", "labels"):
        if binding_metadata.get(key):
            pod["metadata"][key] = {**(pod["metadata"].get(key) or {}), **binding_metadata[key]}
    status = section(pod, "status")
    others = [one for one in status.get("conditions") or () if one.get("type") != "PodScheduled"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    status["conditions"] = [*others, scheduled]
    status.pop("nominatedNodeName", None)
    return pod


def bind_by_name(cluster: Cluster, call: Call, tree: Object) -> Object:
    """POST to `bindings`, the older form: the binding's own name says which pod."""
    check_type(tree, call.resource)
    call.name = section(tree, "metadata").get("name", "")
    return bind(cluster, call, tree)


def _label_name_faults(field: str, name: Any, taken: set[str]) -> Faults:
    """What is wrong with a name that is a DNS label among others, which it joins."""
    faults = [invalid_value(field, name, text) for text in dns_label_faults(str(name))]
    if not faults and name in taken:
        faults.append({"field": field, "reason": "FieldValueDuplicate", "message": f'Duplicate value: "{name}"'})
    taken.add(str(name))
    return faults


def _name_faults(spec: Any) -> Faults:
    """What is wrong with the names of a specification, other than those of its containers."""
    faults: Faults = []
    volumes: set[str] = set()
    for position, volume in enumerate(items_at(spec, "volumes")):
        field, name = f"spec.volumes[{position}].name", value_at(volume, "name")
        faults += _label_name_faults(field, name, volumes) if name else [required(field)]
    for group in ("initContainers", "containers"):
        for position, container in enumerate(items_at(spec, group)):
            for place, mount in enumerate(items_at(container, "volumeMounts")):
                name = value_at(mount, "name")
                if name not in volumes:
                    field = f"spec.{group}[{position}].volumeMounts[{place}].name"
                    faults.append({"field": field, "reason": "FieldValueNotFound", "message": f'Not found: "{name}"'})
    for key in ("hostname", "subdomain"):
        if name := value_at(spec, key):
            faults += [invalid_value(f"spec.{key}", name, text) for text in dns_label_faults(str(name))]
    return faults
