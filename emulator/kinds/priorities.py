"""Priorities: what a class may say, and what pods get from the class that they name."""

from typing import Any

from pyroclast.emulator.operations.strategies import Context, Strategy, forbidden_value, invalid_value
from pyroclast.emulator.statuses import cause, forbidden
from pyroclast.emulator.storage.store import Record

__all__ = ["PriorityClassStrategy", "admit_priority", "class_of"]

Object = dict[str, Any]
Faults = list[dict[str, str]]

GROUP = "scheduling.k8s.io"
CLASSES = "priorityclasses"
SYSTEM = "system-"
SYSTEM_CRITICAL = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
HIGHEST = 1_000_000_000
"""Highest value of the classes that users create."""
PREEMPTS = "PreemptLowerPriority"
POLICIES = (PREEMPTS, "Never")
COMPUTED = (
    "the %s (%s) must not be provided in pod spec; priority admission controller computed %s "
    "from the given PriorityClass name"
)


class PriorityClassStrategy(Strategy):
    """One default among all classes; a number and a policy that stay."""

    def prepare_create(self, tree: Object, context: Context) -> None:
        """Refuse a second default."""
        super().prepare_create(tree, context)
        check_default(tree, context)

    def prepare_update(self, new: Object, old: Object, context: Context) -> None:
        """Refuse a second default."""
        super().prepare_update(new, old, context)
        check_default(new, context)

    def fill(self, tree: Object, context: Context) -> None:
        """Set the policy."""
        del context
        tree.setdefault("preemptionPolicy", PREEMPTS)

    def faults(self, new: Object, old: Object | None, context: Context) -> Faults:
        """Names and numbers that are the system's; on update, what cannot change."""
        del context
        if old is None:
            return [*reserved_faults(new), *policy_faults(new)]
        faults = []
        if new.get("value") != old.get("value"):
            faults.append(forbidden_value("value", "may not be changed in an update."))
        if new["preemptionPolicy"] != old.get("preemptionPolicy"):
            faults.append(invalid_value("preemptionPolicy", new["preemptionPolicy"], "field is immutable"))
        return faults

    def spec_changed(self, new: Object, old: Object, context: Context) -> bool:
        """Return False: no field that may change affects the generation."""
        del new, old, context
        return False


def reserved_faults(tree: Object) -> Faults:
    """Names that begin as the system's, and numbers above those of people."""
    name, value = tree["metadata"].get("name", ""), tree.get("value", 0)
    if not name.startswith(SYSTEM):
        allowed = f"maximum allowed value of a user defined priority is {HIGHEST}"
        return [forbidden_value("value", allowed)] if value > HIGHEST else []
    why = f"{name} is not a known system priority class"
    if name in SYSTEM_CRITICAL:
        if value == SYSTEM_CRITICAL[name]:
            return []
        why = f"value of {name} PriorityClass must be {SYSTEM_CRITICAL[name]}"
    reserved = f"priority class names with '{SYSTEM}' prefix are reserved for system use only. error: {why}"
    return [forbidden_value("metadata.name", reserved)]


def policy_faults(tree: Object) -> Faults:
    """A policy that there is not."""
    policy = tree["preemptionPolicy"]
    if policy in POLICIES:
        return []
    supported = ", ".join(f'"{one}"' for one in POLICIES)
    message = f'Unsupported value: "{policy}": supported values: {supported}'
    return [cause("preemptionPolicy", "FieldValueNotSupported", message)]


def check_default(tree: Object, context: Context) -> None:
    """Refuse a default beside another.

    Raises:
        ApiError: 403.
    """
    name = tree["metadata"].get("name", "")
    standing = default_class(context)
    if tree.get("globalDefault") and standing is not None and standing["metadata"]["name"] != name:
        why = f"PriorityClass {standing['metadata']['name']} is already marked as default. Only one default can exist"
        raise forbidden(GROUP, CLASSES, name, why)


def admit_priority(context: Context, tree: Object, spec: Object) -> None:
    """Write the class's number and policy into a pod.

    Raises:
        ApiError: 403 for a class that is not there, or for a number or policy of the client's own.
    """
    pod_name = tree["metadata"].get("name", "")
    found = class_of(context, spec.get("priorityClassName", ""), kind=("", "pods", pod_name))
    if found.get("metadata"):
        spec["priorityClassName"] = found["metadata"]["name"]
    computed = {"priority": int(found.get("value", 0)), "preemptionPolicy": found.get("preemptionPolicy", PREEMPTS)}
    for key, called in (
        ("priority", "integer value of priority"),
        ("preemptionPolicy", "string value of PreemptionPolicy"),
    ):
        if spec.get(key) not in (None, computed[key]):
            raise forbidden("", "pods", pod_name, COMPUTED % (called, spec[key], computed[key]))
    spec.update(computed)


def class_of(context: Context, name: str, *, kind: tuple[str, str, str]) -> Object:
    """Return the priority class of an object: the one that it names, else the default; empty without a default.

    Args:
        context: Data that may be read.
        name: The class that the object names; empty for none.
        kind: Group, plural and name of the object.

    Raises:
        ApiError: 403 for a class that does not exist.
    """
    if not name:
        return default_class(context) or {}
    record = context.store.collection(GROUP, CLASSES).get("", name)
    if record is not None:
        return record.object()
    if name in SYSTEM_CRITICAL:
        return {"value": SYSTEM_CRITICAL[name]}
    raise forbidden(*kind, f"no PriorityClass with name {name} was found")


def default_class(context: Context) -> Object | None:
    """The class of pods that name none, if there is one."""
    classes = context.store.collection(GROUP, CLASSES).records()
    return next((tree for tree in map(Record.object, classes) if tree.get("globalDefault")), None)
