"""Disruption budgets: their status as the disruption controller keeps it, and evictions that respect it."""

import asyncio
import math
from typing import Any

from pyroclast.emulator.operations import deletion
from pyroclast.emulator.operations.cluster import Cluster
from pyroclast.emulator.operations.strategies import section
from pyroclast.emulator.requests.calls import Call
from pyroclast.emulator.requests.wrongtypes import refuse_wrong_types
from pyroclast.emulator.statuses import ApiError, bad_request, not_found, success, too_many_requests
from pyroclast.emulator.storage.resources import Registry, Resource
from pyroclast.emulator.storage.selectors import label_selector_matches
from pyroclast.emulator.storage.store import Collection, Event, Record

__all__ = ["Budgets", "evict", "status_of"]

Object = dict[str, Any]

SETTLE_SECONDS = 0.05
"""Changes within this time are counted together."""
SCALED = {
    "ReplicaSet": ("apps", "replicasets"),
    "StatefulSet": ("apps", "statefulsets"),
    "ReplicationController": ("", "replicationcontrollers"),
}
VIOLATION = "Cannot evict pod as it would violate the pod's disruption budget."
TOO_MANY_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


class Budgets:
    """Keeps the status of the budgets of every namespace in which pods or budgets change."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._budgets = budgets_of(cluster)
        self._pods = cluster.core("pods")
        self._changed: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    def on_change(self, collection: Collection, event: Event) -> None:
        """Note the namespace of a changed pod or budget."""
        if collection is not self._pods and collection is not self._budgets:
            return
        if not len(self._budgets):
            return
        self._changed.add(event.record.namespace)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SETTLE_SECONDS, self._settle)

    def stop(self) -> None:
        """Count no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _settle(self) -> None:
        changed, self._changed, self._timer = self._changed, set(), None
        for namespace in changed:
            for record in list(self._budgets.records(namespace)):
                refresh(self._cluster, record)


def budgets_of(cluster: Cluster) -> Collection:
    """All disruption budgets."""
    return cluster.store.collection("policy", "poddisruptionbudgets")


def refresh(cluster: Cluster, record: Record) -> Record:
    """Bring a budget's status up to date; answers the newest record."""
    tree = record.object()
    status = status_of(cluster, tree)
    if status == tree.get("status"):
        return record
    return budgets_of(cluster).put({**tree, "status": status})


def status_of(cluster: Cluster, budget: Object) -> Object:
    """A budget's status, counted from the pods that are there."""
    spec = budget.get("spec") or {}
    pods = selected_pods(cluster, budget)
    healthy = sum(is_healthy(pod) for pod in pods)
    expected, desired = goals(cluster, spec, pods)
    old = budget.get("status") or {}
    disrupted = still_disrupted(old.get("disruptedPods") or {}, pods)
    healthy = max(0, healthy - len(disrupted))
    allowed = max(0, healthy - desired) if expected > 0 else 0
    status: Object = {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "expectedPods": expected,
        "observedGeneration": budget["metadata"].get("generation", 1),
        "conditions": [condition(cluster, old, budget, allowed)],
    }
    if disrupted:
        status["disruptedPods"] = disrupted
    return status


def selected_pods(cluster: Cluster, budget: Object) -> list[Object]:
    """The pods under a budget; a missing selector takes none, an empty one all."""
    selector = (budget.get("spec") or {}).get("selector")
    if selector is None:
        return []
    records = cluster.core("pods").records(budget["metadata"]["namespace"])
    matching = [one for one in records if label_selector_matches(selector, one.facets["metadata"].get("labels", {}))]
    pods = [record.object() for record in matching]
    return [pod for pod in pods if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")]


def is_healthy(pod: Object) -> bool:
    """Whether a pod counts: ready and not going."""
    return not pod["metadata"].get("deletionTimestamp") and is_ready(pod)


def is_ready(pod: Object) -> bool:
    """Whether the Ready condition holds."""
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def goals(cluster: Cluster, spec: Object, pods: list[Object]) -> tuple[int, int]:
    """Return the number of expected pods, and of those that must stay healthy."""
    if (most := spec.get("maxUnavailable")) is not None:
        expected = expected_scale(cluster, pods)
        return expected, max(0, expected - scaled(most, expected))
    least = spec.get("minAvailable", 1)
    if isinstance(least, int):
        return len(pods), least
    expected = expected_scale(cluster, pods)
    return expected, scaled(least, expected)


def scaled(value: Any, total: int) -> int:
    """A count or percentage of a total, rounded up."""
    if isinstance(value, str) and value.endswith("%"):
        return math.ceil(total * int(value[:-1]) / 100)
    return int(value)


def expected_scale(cluster: Cluster, pods: list[Object]) -> int:
    """The replicas that the pods' controllers want; pods without a known controller count themselves."""
    total = 0
    seen: set[str] = set()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        owner = next((one for one in owners if one.get("controller")), None)
        if owner is None or owner.get("kind") not in SCALED:
            total += 1
        elif owner["uid"] not in seen:
            seen.add(owner["uid"])
            total += replicas_of(cluster, pod["metadata"]["namespace"], owner)
    return total


def replicas_of(cluster: Cluster, namespace: str, owner: Object) -> int:
    """Return the replicas of a controller; 1 if it does not exist."""
    record = cluster.store.collection(*SCALED[owner["kind"]]).get(namespace, owner["name"])
    return 1 if record is None else int((record.object().get("spec") or {}).get("replicas", 1))


def still_disrupted(disrupted: Object, pods: list[Object]) -> Object:
    """Evictions whose pods are still there and not yet going."""
    names = {pod["metadata"]["name"] for pod in pods if not pod["metadata"].get("deletionTimestamp")}
    return {name: moment for name, moment in disrupted.items() if name in names}


def condition(cluster: Cluster, old: Object, budget: Object, allowed: int) -> Object:
    """The DisruptionAllowed condition."""
    status = "True" if allowed else "False"
    before = next((one for one in old.get("conditions") or () if one.get("type") == "DisruptionAllowed"), None)
    moved = before is None or before.get("status") != status
    return {
        "type": "DisruptionAllowed",
        "status": status,
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
        "lastTransitionTime": cluster.clock.now() if moved or before is None else before["lastTransitionTime"],
        "observedGeneration": budget["metadata"].get("generation", 1),
    }


def evict(cluster: Cluster, call: Call, tree: Object) -> Object:
    """POST to a pod's `eviction`: delete it if its budget allows that.

    Raises:
        ApiError: 404, 409, or 429 when the budget does not allow it.
    """
    refuse_wrong_types("policy/v1", "Eviction", tree)
    if tree.get("kind", "Eviction") != "Eviction":
        raise bad_request(f"no kind {tree.get('kind')!r} is expected here, but Eviction")
    metadata = section(tree, "metadata")
    if metadata.get("name", call.name) != call.name:
        raise bad_request("name in URL does not match name in Eviction object")
    pods = cluster.core("pods")
    record = pods.get(call.namespace, call.name)
    if record is None:
        raise not_found("", "pods", call.name)
    options = deletion.read_options(call, tree.get("deleteOptions") or {})
    pod = record.object()
    if not ignores_budgets(pod):
        spend(cluster, pod, dry_run=options.dry_run)
        if pod["spec"].get("nodeName") and not options.dry_run:
            record = pods.put(with_target_condition(cluster, pod))
    deletion.delete(cluster, pod_resource(cluster.registry), record, options)
    return success(code=201)


def pod_resource(registry: Registry) -> Resource:
    """The resource of pods."""
    found = registry.find("", "v1", "pods")
    if found is None:
        raise not_found("", "pods", "")
    return found


def ignores_budgets(pod: Object) -> bool:
    """Pods that are ending, have ended or never began are evicted without asking."""
    phase = pod.get("status", {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(pod["metadata"].get("deletionTimestamp"))


def spend(cluster: Cluster, pod: Object, *, dry_run: bool) -> None:
    """Take one disruption from the pod's budget, if it has one.

    Raises:
        ApiError: 429 when none is left, 500 when several budgets claim the pod.
    """
    labels = pod["metadata"].get("labels") or {}
    namespace = pod["metadata"]["namespace"]
    records = [one for one in budgets_of(cluster).records(namespace) if claims(one, labels)]
    if not records:
        return
    if len(records) > 1:
        raise ApiError(500, "InternalError", TOO_MANY_BUDGETS)
    budget = refresh(cluster, records[0]).object()
    status = budget["status"]
    if not is_ready(pod) and unhealthy_may_go(budget):
        return
    if status["disruptionsAllowed"] == 0:
        raise too_many_requests(VIOLATION, causes=[violation(budget)])
    if dry_run:
        return
    status["disruptionsAllowed"] -= 1
    status.setdefault("disruptedPods", {})[pod["metadata"]["name"]] = cluster.clock.now()
    budgets_of(cluster).put(budget)


def claims(record: Record, labels: dict[str, str]) -> bool:
    """Whether a budget's selector takes these labels."""
    selector = (record.object().get("spec") or {}).get("selector")
    return selector is not None and label_selector_matches(selector, labels)


def unhealthy_may_go(budget: Object) -> bool:
    """Whether a pod that is not ready may be evicted without spending."""
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget["status"]
    return bool(status["desiredHealthy"] > 0 and status["currentHealthy"] >= status["desiredHealthy"])


def violation(budget: Object) -> dict[str, str]:
    """The cause of a 429."""
    status = budget["status"]
    name = budget["metadata"]["name"]
    needs, has = status["desiredHealthy"], status["currentHealthy"]
    message = f"The disruption budget {name} needs {needs} healthy pods and has {has} currently"
    return {"reason": "DisruptionBudget", "message": message}


def with_target_condition(cluster: Cluster, pod: Object) -> Object:
    """The pod, marked as being evicted."""
    status = section(pod, "status")
    others = [one for one in status.get("conditions") or () if one.get("type") != "DisruptionTarget"]
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": cluster.clock.now(),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    status["conditions"] = [*others, target]
    return pod
