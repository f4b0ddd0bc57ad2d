"""Tables of built-in kinds: the columns that kubectl shows, and their cells.

A column is its title, the function from an object and the present moment to the cell, its wire type, and whether it
only shows with `-o wide`. Titles and order are those of the API server.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyroclast.emulator.tables import networkcells, podcells
from pyroclast.emulator.tables.ages import age_text, duration_text, moment
from pyroclast.emulator.trees import items_at, number_at, object_at, text_at, value_at

__all__ = ["AGE", "BUILT_IN", "CREATED_AT", "NAME", "BuiltInColumn", "Cell"]

Cell = Callable[[Any, Any], Any]
NONE = "<none>"
UNSET = "<unset>"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltInColumn:
    """A column of a built-in kind."""

    title: str
    cell: Cell
    type: str = "string"
    format: str = ""
    wide: bool = False


def _at(*path: str, otherwise: str = "") -> Cell:
    """A cell that shows the text at a path."""
    return lambda obj, _now: text_at(obj, *path, otherwise=otherwise)


def _count_at(*path: str) -> Cell:
    return lambda obj, _now: number_at(obj, *path)


def _of(read: Callable[[Any], Any]) -> Cell:
    """A cell that does not depend on the moment."""
    return lambda obj, _now: read(obj)


def _age_at(*path: str) -> Cell:
    return lambda obj, now: age_text(value_at(obj, *path), now)


def _column(title: str, cell: Cell, type: str = "string", *, wide: bool = False) -> BuiltInColumn:  # noqa: A002  # the wire's word
    return BuiltInColumn(title=title, cell=cell, type=type, wide=wide)


NAME = BuiltInColumn(title="Name", cell=_at("metadata", "name"), format="name")
AGE = _column("Age", _age_at("metadata", "creationTimestamp"))
CREATED_AT = _column("Created At", _at("metadata", "creationTimestamp"), "date")


# --- nodes and namespaces --------------------------------------------------------------------------------------------


def _node_status(node: Any) -> str:
    states = [
        "Ready" if value_at(condition, "status") == "True" else "NotReady"
        for condition in items_at(node, "status", "conditions")
        if value_at(condition, "type") == "Ready"
    ]
    words = states or ["Unknown"]
    if value_at(node, "spec", "unschedulable") is True:
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(node: Any) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = object_at(node, "metadata", "labels")
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    role = labels.get("kubernetes.io/role")
    if isinstance(role, str):
        roles.add(role)
    return ",".join(sorted(roles - {""})) or NONE


def _address(kind: str) -> Cell:
    def cell(node: Any, _now: Any) -> str:
        for address in items_at(node, "status", "addresses"):
            if value_at(address, "type") == kind:
                return text_at(address, "address", otherwise=NONE)
        return NONE

    return cell


def _node_info(key: str) -> Cell:
    return _at("status", "nodeInfo", key, otherwise="<unknown>")


_NODES = [
    NAME,
    _column("Status", _of(_node_status)),
    _column("Roles", _of(_node_roles)),
    AGE,
    _column("Version", _at("status", "nodeInfo", "kubeletVersion")),
    _column("Internal-IP", _address("InternalIP"), wide=True),
    _column("External-IP", _address("ExternalIP"), wide=True),
    _column("OS-Image", _node_info("osImage"), wide=True),
    _column("Kernel-Version", _node_info("kernelVersion"), wide=True),
    _column("Container-Runtime", _node_info("containerRuntimeVersion"), wide=True),
]


# --- pods ------------------------------------------------------------------------------------------------------------


def _pod_address(pod: Any) -> str:
    addresses = [text_at(item, "ip") for item in items_at(pod, "status", "podIPs")]
    return next(filter(None, addresses), "") or text_at(pod, "status", "podIP", otherwise=NONE)


_PODS = [
    NAME,
    _column("Ready", _of(podcells.ready)),
    _column("Status", _of(podcells.status)),
    _column("Restarts", podcells.restarts),
    AGE,
    _column("IP", _of(_pod_address), wide=True),
    _column("Node", _at("spec", "nodeName", otherwise=NONE), wide=True),
    _column("Nominated Node", _at("status", "nominatedNodeName", otherwise=NONE), wide=True),
    _column("Readiness Gates", _of(podcells.readiness_gates), wide=True),
]


# --- events ----------------------------------------------------------------------------------------------------------


def _event_moment(event: Any, *keys: str) -> Any:
    for key in keys:
        value = value_at(event, *key.split("."))
        if value is not None:
            return value
    return None


def _event_last_seen(event: Any, now: Any) -> str:
    keys = ("series.lastObservedTime", "lastTimestamp", "deprecatedLastTimestamp")
    return age_text(_event_moment(event, *keys, "firstTimestamp", "deprecatedFirstTimestamp", "eventTime"), now)


def _event_first_seen(event: Any, now: Any) -> str:
    return age_text(_event_moment(event, "firstTimestamp", "deprecatedFirstTimestamp", "eventTime"), now)


def _event_object(event: Any) -> str:
    about = object_at(event, "involvedObject") or object_at(event, "regarding")
    kind, name = text_at(about, "kind").lower(), text_at(about, "name")
    return f"{kind}/{name}" if name else kind


def _event_source(event: Any) -> str:
    source = object_at(event, "source") or object_at(event, "deprecatedSource")
    component = text_at(source, "component") or text_at(event, "reportingComponent")
    component = component or text_at(event, "reportingController")
    host = text_at(source, "host") or text_at(event, "reportingInstance")
    return f"{component}, {host}" if host else component


def _event_count(event: Any) -> int:
    counts = (number_at(event, "series", "count"), number_at(event, "count"), number_at(event, "deprecatedCount"))
    return next(filter(None, counts), 1)


_EVENTS = [
    _column("Last Seen", _event_last_seen),
    _column("Type", _at("type")),
    _column("Reason", _at("reason")),
    _column("Object", _of(_event_object)),
    _column("Subobject", _at("involvedObject", "fieldPath"), wide=True),
    _column("Source", _of(_event_source), wide=True),
    _column("Message", _of(lambda event: (text_at(event, "message") or text_at(event, "note")).strip())),
    _column("First Seen", _event_first_seen, wide=True),
    _column("Count", _of(_event_count), wide=True),
    BuiltInColumn(title="Name", cell=_at("metadata", "name"), format="name", wide=True),
]


# --- services and configuration --------------------------------------------------------------------------------------


def _labels_text(labels: Any) -> str:
    if not isinstance(labels, dict) or not labels:
        return NONE
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _selector_text(selector: Any) -> str:
    """A LabelSelector as the text that `-l` takes."""
    if not object_at(selector, "matchLabels") and not items_at(selector, "matchExpressions"):
        return NONE
    terms = [f"{key}={value}" for key, value in sorted(object_at(selector, "matchLabels").items())]
    for expression in items_at(selector, "matchExpressions"):
        key, operator = text_at(expression, "key"), text_at(expression, "operator")
        values = ",".join(sorted(map(str, items_at(expression, "values"))))
        shown = {"Exists": key, "DoesNotExist": f"!{key}"}
        terms.append(shown.get(operator, f"{key} {operator.lower()} ({values})"))
    return ",".join(terms)


def _data_count(obj: Any) -> int:
    return len(object_at(obj, "data")) + len(object_at(obj, "binaryData"))


def _quota_amounts(quota: Any, limits: bool) -> str:
    used = object_at(quota, "status", "used")
    hard = object_at(quota, "status", "hard")
    names = [name for name in sorted(hard) if name.startswith("limits") is limits]
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


# --- workloads -------------------------------------------------------------------------------------------------------


def _containers(obj: Any) -> list[Any]:
    return items_at(obj, "spec", "template", "spec", "containers")


_CRON_JOB = ("spec", "jobTemplate", "spec")


def _cron_containers(obj: Any) -> list[Any]:
    return items_at(obj, *_CRON_JOB, "template", "spec", "containers")


def _joined(items: list[Any], key: str) -> str:
    return ",".join(text_at(item, key) for item in items)


def _controller(obj: Any) -> str:
    owner = next((each for each in items_at(obj, "metadata", "ownerReferences") if value_at(each, "controller")), None)
    if owner is None:
        return NONE
    group = text_at(owner, "apiVersion").rpartition("/")[0]
    kind = text_at(owner, "kind").lower()
    return f"{kind}.{group}/{text_at(owner, 'name')}" if group else f"{kind}/{text_at(owner, 'name')}"


_CONTAINERS = [
    _column("Containers", _of(lambda o: _joined(_containers(o), "name")), wide=True),
    _column("Images", _of(lambda o: _joined(_containers(o), "image")), wide=True),
]
_SELECTOR = _column("Selector", _of(lambda o: _selector_text(value_at(o, "spec", "selector"))), wide=True)


def _desired(obj: Any) -> int:
    replicas = value_at(obj, "spec", "replicas")
    return replicas if isinstance(replicas, int) else 1


def _ready_of_desired(obj: Any) -> str:
    return f"{number_at(obj, 'status', 'readyReplicas')}/{_desired(obj)}"


def _job_status(job: Any) -> str:
    true = {
        text_at(item, "type") for item in items_at(job, "status", "conditions") if value_at(item, "status") == "True"
    }
    if "Complete" in true:
        return "Complete"
    if "Failed" in true:
        return "Failed"
    if value_at(job, "metadata", "deletionTimestamp") is not None:
        return "Terminating"
    words = {"Suspended": "Suspended", "FailureTarget": "FailureTarget", "SuccessCriteriaMet": "SuccessCriteriaMet"}
    return next((word for name, word in words.items() if name in true), "Running")


def _job_completions(job: Any) -> str:
    succeeded = number_at(job, "status", "succeeded")
    completions = value_at(job, "spec", "completions")
    if isinstance(completions, int):
        return f"{succeeded}/{completions}"
    parallelism = number_at(job, "spec", "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(job: Any, now: Any) -> str:
    start, end = value_at(job, "status", "startTime"), value_at(job, "status", "completionTime")
    first, last = moment(start), moment(end)
    if first is None:
        return ""
    return duration_text(last - first) if last is not None else age_text(start, now)


def _amount(obj: Any, *path: str) -> str:
    """An integer or percentage, `N/A` when there is none."""
    value = value_at(obj, *path)
    return str(value) if isinstance(value, (int, str)) else "N/A"


# --- storage ---------------------------------------------------------------------------------------------------------

_ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _access_modes(modes: list[Any]) -> str:
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in modes)


def _bound_claim_only(read: Callable[[Any], str]) -> Cell:
    return lambda claim, _now: read(claim) if text_at(claim, "spec", "volumeName") else ""


def _storage_status(obj: Any) -> str:
    if value_at(obj, "metadata", "deletionTimestamp") is not None:
        return "Terminating"
    return text_at(obj, "status", "phase")


def _claim_of_volume(volume: Any) -> str:
    reference = object_at(volume, "spec", "claimRef")
    return f"{text_at(reference, 'namespace')}/{text_at(reference, 'name')}" if reference else ""


def _class_title(group: str) -> Cell:
    """Return a cell with the name of a class, marked if it is the default class."""

    def title(obj: Any, _now: Any) -> str:
        annotations = object_at(obj, "metadata", "annotations")
        mark = " (default)" if annotations.get(f"{group}.kubernetes.io/is-default-class") == "true" else ""
        return text_at(obj, "metadata", "name") + mark

    return title


_VOLUME_MODE = _column("VolumeMode", _at("spec", "volumeMode", otherwise=UNSET), wide=True)
_ATTRIBUTES_CLASS = _column("VolumeAttributesClass", _at("spec", "volumeAttributesClassName", otherwise=UNSET))


# --- devices and roles -----------------------------------------------------------------------------------------------


def _claim_state(claim: Any) -> str:
    words = []
    if value_at(claim, "metadata", "deletionTimestamp") is not None:
        words.append("deleted")
    if value_at(claim, "status", "allocation") is None:
        words.append("pending")
    else:
        words.append("allocated")
        if items_at(claim, "status", "reservedFor"):
            words.append("reserved")
    return ",".join(words)


def _role_reference(binding: Any) -> str:
    return f"{text_at(binding, 'roleRef', 'kind')}/{text_at(binding, 'roleRef', 'name')}"


def _subjects(kind: str) -> Cell:
    def cell(binding: Any, _now: Any) -> str:
        subjects = [each for each in items_at(binding, "subjects") if value_at(each, "kind") == kind]
        if kind != "ServiceAccount":
            return _joined(subjects, "name")
        return ",".join(f"{text_at(each, 'namespace')}/{text_at(each, 'name')}" for each in subjects)

    return cell


_BINDINGS = [
    NAME,
    _column("Role", _of(_role_reference)),
    AGE,
    _column("Users", _subjects("User"), wide=True),
    _column("Groups", _subjects("Group"), wide=True),
    _column("ServiceAccounts", _subjects("ServiceAccount"), wide=True),
]
_WEBHOOKS = [NAME, _column("Webhooks", _of(lambda o: len(items_at(o, "webhooks"))), "integer"), AGE]


def _workload_of_group(group: Any) -> str:
    """Return the name of the Workload from which a PodGroup of `scheduling.k8s.io` was created."""
    old = value_at(group, "spec", "podGroupTemplateRef", "workload", "workloadName")
    return value_at(group, "spec", "workloadRef", "workloadName") or old or NONE


def _status_of_group(group: Any) -> str:
    """Return the state of a PodGroup of `scheduling.k8s.io` in a word."""
    by_type = {text_at(each, "type"): each for each in items_at(group, "status", "conditions")}
    if "DisruptionTarget" in by_type:
        return text_at(by_type["DisruptionTarget"], "reason")
    found = by_type.get("PodGroupScheduled") or by_type.get("PodGroupInitiallyScheduled")
    if found is None:
        return "Pending"
    return "Scheduled" if text_at(found, "status") == "True" else "Unschedulable"


def _token_requests(driver: Any) -> str:
    return _joined(items_at(driver, "spec", "tokenRequests"), "audience") or UNSET


BUILT_IN: dict[tuple[str, str], list[BuiltInColumn]] = {
    ("", "pods"): _PODS,
    ("", "nodes"): _NODES,
    ("", "events"): _EVENTS,
    ("events.k8s.io", "events"): _EVENTS,
    ("", "namespaces"): [NAME, _column("Status", _at("status", "phase")), AGE],
    ("", "configmaps"): [NAME, _column("Data", _of(_data_count)), AGE],
    ("", "secrets"): [NAME, _column("Type", _at("type")), _column("Data", _of(_data_count)), AGE],
    ("", "serviceaccounts"): [NAME, AGE],
    ("", "endpoints"): [NAME, _column("Endpoints", _of(networkcells.endpoints)), AGE],
    ("", "podtemplates"): [
        NAME,
        _column("Containers", _of(lambda o: _joined(items_at(o, "template", "spec", "containers"), "name"))),
        _column("Images", _of(lambda o: _joined(items_at(o, "template", "spec", "containers"), "image"))),
        _column("Pod Labels", _of(lambda o: _labels_text(value_at(o, "template", "metadata", "labels")))),
    ],
    ("", "services"): [
        NAME,
        _column("Type", _at("spec", "type")),
        _column("Cluster-IP", _at("spec", "clusterIP", otherwise=NONE)),
        _column("External-IP", _of(networkcells.external_address)),
        _column("Port(s)", _of(networkcells.ports)),
        AGE,
        _column("Selector", _of(lambda o: _labels_text(value_at(o, "spec", "selector"))), wide=True),
    ],
    ("", "resourcequotas"): [
        NAME,
        _column("Request", _of(lambda o: _quota_amounts(o, limits=False))),
        _column("Limit", _of(lambda o: _quota_amounts(o, limits=True))),
        AGE,
    ],
    ("", "limitranges"): [NAME, CREATED_AT],
    ("", "replicationcontrollers"): [
        NAME,
        _column("Desired", _of(_desired), "integer"),
        _column("Current", _count_at("status", "replicas"), "integer"),
        _column("Ready", _count_at("status", "readyReplicas"), "integer"),
        AGE,
        *_CONTAINERS,
        _column("Selector", _of(lambda o: _labels_text(value_at(o, "spec", "selector"))), wide=True),
    ],
    ("", "persistentvolumeclaims"): [
        NAME,
        _column("Status", _of(_storage_status)),
        _column("Volume", _at("spec", "volumeName")),
        _column("Capacity", _bound_claim_only(lambda o: text_at(o, "status", "capacity", "storage"))),
        _column("Access Modes", _bound_claim_only(lambda o: _access_modes(items_at(o, "status", "accessModes")))),
        _column("StorageClass", _at("spec", "storageClassName")),
        _ATTRIBUTES_CLASS,
        AGE,
        _VOLUME_MODE,
    ],
    ("", "persistentvolumes"): [
        NAME,
        _column("Capacity", _at("spec", "capacity", "storage")),
        _column("Access Modes", _of(lambda o: _access_modes(items_at(o, "spec", "accessModes")))),
        _column("Reclaim Policy", _at("spec", "persistentVolumeReclaimPolicy")),
        _column("Status", _of(_storage_status)),
        _column("Claim", _of(_claim_of_volume)),
        _column("StorageClass", _at("spec", "storageClassName")),
        _ATTRIBUTES_CLASS,
        _column("Reason", _at("status", "reason")),
        AGE,
        _VOLUME_MODE,
    ],
    ("apps", "deployments"): [
        NAME,
        _column("Ready", _of(_ready_of_desired)),
        _column("Up-to-date", _count_at("status", "updatedReplicas")),
        _column("Available", _count_at("status", "availableReplicas")),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ],
    ("apps", "replicasets"): [
        NAME,
        _column("Desired", _of(_desired), "integer"),
        _column("Current", _count_at("status", "replicas"), "integer"),
        _column("Ready", _count_at("status", "readyReplicas"), "integer"),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ],
    ("apps", "statefulsets"): [NAME, _column("Ready", _of(_ready_of_desired)), AGE, *_CONTAINERS],
    ("apps", "daemonsets"): [
        NAME,
        _column("Desired", _count_at("status", "desiredNumberScheduled"), "integer"),
        _column("Current", _count_at("status", "currentNumberScheduled"), "integer"),
        _column("Ready", _count_at("status", "numberReady"), "integer"),
        _column("Up-to-date", _count_at("status", "updatedNumberScheduled"), "integer"),
        _column("Available", _count_at("status", "numberAvailable"), "integer"),
        _column("Node Selector", _of(lambda o: _labels_text(object_at(o, "spec", "template", "spec", "nodeSelector")))),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ],
    ("batch", "jobs"): [
        NAME,
        _column("Status", _of(_job_status)),
        _column("Completions", _of(_job_completions)),
        _column("Duration", _job_duration),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ],
    ("batch", "cronjobs"): [
        NAME,
        _column("Schedule", _at("spec", "schedule")),
        _column("Timezone", _at("spec", "timeZone", otherwise=NONE)),
        _column("Suspend", _of(lambda o: str(value_at(o, "spec", "suspend") is True)), "boolean"),
        _column("Active", _of(lambda o: len(items_at(o, "status", "active"))), "integer"),
        _column(
            "Last Schedule",
            lambda o, now: (
                age_text(o["status"]["lastScheduleTime"], now) if value_at(o, "status", "lastScheduleTime") else NONE
            ),
        ),
        AGE,
        _column("Containers", _of(lambda o: _joined(_cron_containers(o), "name")), wide=True),
        _column("Images", _of(lambda o: _joined(_cron_containers(o), "image")), wide=True),
        _column("Selector", _of(lambda o: _selector_text(value_at(o, *_CRON_JOB, "selector"))), wide=True),
    ],
    ("apps", "controllerrevisions"): [
        NAME,
        _column("Controller", _of(_controller)),
        _column("Revision", _count_at("revision")),
        AGE,
    ],
    ("coordination.k8s.io", "leases"): [NAME, _column("Holder", _at("spec", "holderIdentity")), AGE],
    ("scheduling.k8s.io", "priorityclasses"): [
        NAME,
        _column("Value", _count_at("value"), "integer"),
        _column("Global-Default", _of(lambda o: value_at(o, "globalDefault") is True), "boolean"),
        AGE,
        _column("PreemptionPolicy", _at("preemptionPolicy", otherwise="PreemptLowerPriority")),
    ],
    ("scheduling.k8s.io", "podgroups"): [
        NAME,
        _column("Policy", _of(lambda o: "Gang" if value_at(o, "spec", "schedulingPolicy", "gang") else "Basic")),
        _column("Workload", _of(_workload_of_group)),
        _column("Status", _of(_status_of_group)),
        AGE,
    ],
    ("policy", "poddisruptionbudgets"): [
        NAME,
        _column("Min Available", _of(lambda o: _amount(o, "spec", "minAvailable"))),
        _column("Max Unavailable", _of(lambda o: _amount(o, "spec", "maxUnavailable"))),
        _column("Allowed Disruptions", _count_at("status", "disruptionsAllowed"), "integer"),
        AGE,
    ],
    ("storage.k8s.io", "storageclasses"): [
        BuiltInColumn(title="Name", cell=_class_title("storageclass"), format="name"),
        _column("Provisioner", _at("provisioner")),
        _column("ReclaimPolicy", _at("reclaimPolicy", otherwise="Delete")),
        _column("VolumeBindingMode", _at("volumeBindingMode", otherwise="Immediate")),
        _column("AllowVolumeExpansion", _of(lambda o: value_at(o, "allowVolumeExpansion") is True)),
        AGE,
    ],
    ("storage.k8s.io", "csidrivers"): [
        NAME,
        _column("AttachRequired", _of(lambda o: value_at(o, "spec", "attachRequired") is not False), "boolean"),
        _column("PodInfoOnMount", _of(lambda o: value_at(o, "spec", "podInfoOnMount") is True), "boolean"),
        _column("StorageCapacity", _of(lambda o: value_at(o, "spec", "storageCapacity") is True), "boolean"),
        _column("TokenRequests", _of(_token_requests)),
        _column("RequiresRepublish", _of(lambda o: value_at(o, "spec", "requiresRepublish") is True), "boolean"),
        _column(
            "Modes", _of(lambda o: ",".join(map(str, items_at(o, "spec", "volumeLifecycleModes"))) or "Persistent")
        ),
        AGE,
    ],
    ("storage.k8s.io", "csistoragecapacities"): [NAME, CREATED_AT],
    ("storage.k8s.io", "csinodes"): [
        NAME,
        _column("Drivers", _of(lambda o: len(items_at(o, "spec", "drivers"))), "integer"),
        AGE,
    ],
    ("storage.k8s.io", "volumeattachments"): [
        NAME,
        BuiltInColumn(title="Attacher", cell=_at("spec", "attacher"), format="name"),
        _column("PV", _at("spec", "source", "persistentVolumeName")),
        _column("Node", _at("spec", "nodeName")),
        _column("Attached", _of(lambda o: value_at(o, "status", "attached") is True), "boolean"),
        AGE,
    ],
    ("resource.k8s.io", "resourceclaims"): [NAME, _column("State", _of(_claim_state)), AGE],
    ("resource.k8s.io", "resourceslices"): [
        NAME,
        _column("Node", _at("spec", "nodeName", otherwise=UNSET)),
        _column("Driver", _at("spec", "driver")),
        _column("Pool", _at("spec", "pool", "name")),
        AGE,
    ],
    ("resource.k8s.io", "deviceclasses"): [NAME, AGE],
    ("resource.k8s.io", "resourceclaimtemplates"): [NAME, AGE],
    ("rbac.authorization.k8s.io", "roles"): [NAME, CREATED_AT],
    ("rbac.authorization.k8s.io", "clusterroles"): [NAME, CREATED_AT],
    ("rbac.authorization.k8s.io", "rolebindings"): _BINDINGS,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _BINDINGS,
    ("apiextensions.k8s.io", "customresourcedefinitions"): [NAME, CREATED_AT],
    ("node.k8s.io", "runtimeclasses"): [NAME, _column("Handler", _at("handler")), AGE],
    ("discovery.k8s.io", "endpointslices"): [
        NAME,
        _column("AddressType", _at("addressType")),
        _column("Ports", _of(networkcells.slice_ports)),
        _column("Endpoints", _of(networkcells.slice_endpoints)),
        AGE,
    ],
    ("networking.k8s.io", "ingressclasses"): [
        BuiltInColumn(title="Name", cell=_class_title("ingressclass"), format="name"),
        _column("Controller", _at("spec", "controller")),
        _column("Parameters", _of(networkcells.ingress_parameters)),
        AGE,
    ],
    ("networking.k8s.io", "ingresses"): [
        NAME,
        _column("Class", _at("spec", "ingressClassName", otherwise=NONE)),
        _column("Hosts", _of(networkcells.ingress_hosts)),
        _column("Address", _of(networkcells.ingress_addresses)),
        _column("Ports", _of(networkcells.ingress_ports)),
        AGE,
    ],
    ("networking.k8s.io", "networkpolicies"): [
        NAME,
        _column("Pod-Selector", _of(lambda o: _selector_text(value_at(o, "spec", "podSelector")))),
        AGE,
    ],
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _WEBHOOKS,
}
"""Columns by group and plural name."""
