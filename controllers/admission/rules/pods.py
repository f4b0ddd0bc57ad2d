"""Pods: disruption budgets of gangs, resource groups, scheduling gates, and the nodes of quota trees.

Only pods of our schedulers are validated. Only they get a scheduling gate, because no other scheduler would remove it,
and the node selector of a quota tree.

The operator configures resource groups. The first group that matches a new pod gives it node labels, tolerations, an
affinity if it has none, and a scheduler.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from pyroclast.controllers.admission.faults import Fault, the_first
from pyroclast.controllers.admission.lookups import Lookups
from pyroclast.controllers.admission.patches import Patch, add
from pyroclast.controllers.admission.resource_groups import ResourceGroup
from pyroclast.controllers.admission.rules.names import is_qualified_name
from pyroclast.controllers.admission.rules.shape import member, read
from pyroclast.model import wire
from pyroclast.model.api.meta import LabelSelector, ObjectMeta, Wire
from pyroclast.model.api.names import DEFAULT_SCHEDULER, MAX_UNAVAILABLE, MIN_AVAILABLE, QUEUE_ALLOCATION_GATE
from pyroclast.model.elastic.names import PREEMPTIBLE, QUOTA_NAME
from pyroclast.model.elastic.quota import age, listed_namespaces
from pyroclast.model.label_keys import is_label_value
from pyroclast.model.matching.selectors import IN, NOT_IN, OPERATORS

__all__ = ["BUDGETS", "budget_faults", "defaulted", "faults_of"]

BUDGETS: Final = (MIN_AVAILABLE, MAX_UNAVAILABLE)
_COUNT = re.compile(r"[+-]?[0-9]{1,9}")
_PERCENTAGE = re.compile(r"[+-]?[0-9]{1,9}%")


class _PodSpec(Wire, frozen=True, kw_only=True):
    scheduler_name: str = ""
    node_name: str = ""


class _Pod(Wire, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _PodSpec = _PodSpec()


def defaulted(
    pod: Mapping[str, Any],
    *,
    namespace: str = "",
    groups: Sequence[ResourceGroup] = (),
    gates_pods: bool = False,
    scheduler_names: Collection[str] = (DEFAULT_SCHEDULER,),
    tree_nodes: LabelSelector | None = None,
) -> list[Patch]:
    """Return the defaults of a new pod.

    Args:
        pod: The pod, as JSON.
        namespace: Namespace of the request; a new pod need not have it.
        groups: Resource groups, in order.
        gates_pods: Add a scheduling gate to pods of our schedulers that request it.
        scheduler_names: Our schedulers.
        tree_nodes: Node selector of the pod's quota tree, None if the pod is in no tree.
    """
    annotations = member(pod, "metadata", "annotations")
    known = annotations if isinstance(annotations, Mapping) else {}
    where = member(pod, "metadata", "namespace") or namespace
    group = next((each for each in groups if each.matches(where, known)), None)
    scheduler = (group.scheduler_name if group is not None else "") or member(pod, "spec", "schedulerName")
    is_ours = scheduler in scheduler_names
    patches = list(_gate(pod, known)) if gates_pods and is_ours else []
    if group is not None:
        patches += _group_patches(pod, group)
    required = [] if tree_nodes is None else list(_requirements(tree_nodes))
    if is_ours and all(map(_can_be_required, required)):
        own = member(pod, "spec", "affinity")
        affinity = group.affinity if own is None and group is not None else own
        patches += _tree_patches(_mapping(affinity), required)
    return patches


def faults_of(
    pod: Mapping[str, Any],
    old: Mapping[str, Any] | None = None,
    lookups: Lookups | None = None,  # noqa: ARG001  all rules have one signature
    *,
    namespace: str = "",
    scheduler_names: Collection[str] = (DEFAULT_SCHEDULER,),
    allows_node_name: bool = False,
    quotas: Sequence[wire.ElasticQuota] | None = None,
) -> tuple[Fault, ...]:
    """Find the faults of a new pod of our schedulers. Other pods and changes are not validated.

    Args:
        pod: The pod, as JSON.
        old: Previous pod, None for a new one. Only its label `preemptible` is compared.
        lookups: Not used.
        namespace: Namespace of the request; a new pod need not have it.
        scheduler_names: Our schedulers.
        allows_node_name: Whether a new pod may have `nodeName`, which bypasses the scheduler.
        quotas: All elastic quotas. A pod may only name quotas that serve its namespace. None: any quota.
    """
    if member(pod, "spec", "schedulerName") not in scheduler_names:
        return ()
    if old is not None:
        return the_first(_changed_faults(pod, old))
    return the_first(_faults(pod, namespace=namespace, allows_node_name=allows_node_name, quotas=quotas))


def _faults(
    value: Mapping[str, Any], *, namespace: str, allows_node_name: bool, quotas: Sequence[wire.ElasticQuota] | None
) -> Iterator[Fault]:
    pod = read(_Pod, value)
    if isinstance(pod, Fault):
        yield pod
        return
    if pod.spec.node_name and not allows_node_name:
        yield Fault(
            field="spec.nodeName",
            value=pod.spec.node_name,
            expected="no node: the scheduler chooses it",
            rule="a new pod of this scheduler must not name its node",
        )
    yield from _quota_faults(pod.metadata.labels.get(QUOTA_NAME, ""), pod.metadata.namespace or namespace, quotas)
    yield from budget_faults(pod.metadata.annotations)


def _changed_faults(pod: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Fault]:
    """Find a change of the label `preemptible`: a pod on borrowed capacity would keep it against its owner."""
    now, before = (member(each, "metadata", "labels", PREEMPTIBLE) for each in (pod, old))
    if now != before:
        yield Fault(
            field=f"metadata.labels[{PREEMPTIBLE}]", value=now, expected=str(before), rule="this label does not change"
        )


def _quota_faults(label: str, namespace: str, quotas: Sequence[wire.ElasticQuota] | None) -> Iterator[Fault]:
    """Find a label with a quota that does not exist, or does not serve the namespace."""
    if not label or quotas is None:
        return
    named = [quota for quota in quotas if quota.metadata.name == label]
    # if several quotas have the name, the oldest counts, as in the scheduler
    counts = min(named, key=age, default=None)
    if counts is None or namespace not in {counts.metadata.namespace, *listed_namespaces(counts)}:
        yield Fault(
            field=f"metadata.labels[{QUOTA_NAME}]",
            value=label,
            expected=f"an ElasticQuota of namespace {namespace}, or one that lists it",
            rule="a new pod must not name the quota of another namespace",
        )


def budget_faults(annotations: Mapping[str, str]) -> Iterator[Fault]:
    """Find the faults of the disruption budget that annotations give to a gang."""
    given = [key for key in BUDGETS if key in annotations]
    for key in given:
        yield from _amount_faults(key, annotations[key])
    if len(given) > 1:
        yield Fault(
            field="metadata.annotations",
            value=given,
            expected="one of the two",
            rule=f"not allow configure multiple annotations <{given}> at same time",
        )


def _amount_faults(key: str, value: str) -> Iterator[Fault]:
    field = f"metadata.annotations[{key}]"
    if _COUNT.fullmatch(value):
        if int(value) <= 0:
            yield Fault(
                field=field,
                value=value,
                expected="at least 1",
                rule=f'invalid value <"{value}"> for {key}, it must be a positive integer',
            )
    elif not _PERCENTAGE.fullmatch(value) or not 0 < int(value[:-1]) < 100:
        yield Fault(
            field=field,
            value=value,
            expected="a count of at least 1, or 1% to 99%",
            rule=f'invalid value <"{value}"> for {key}, it must be a valid percentage which between 1% ~ 99%',
        )


def _gate(pod: Mapping[str, Any], annotations: Mapping[str, Any]) -> Iterator[Patch]:
    if annotations.get(QUEUE_ALLOCATION_GATE) != "true":
        return
    gate, gates = {"name": QUEUE_ALLOCATION_GATE}, member(pod, "spec", "schedulingGates")
    if gates is None:
        yield add("spec", "schedulingGates", value=[gate])
    elif isinstance(gates, list) and gate not in gates:
        yield add("spec", "schedulingGates", "-", value=gate)


def _group_patches(pod: Mapping[str, Any], group: ResourceGroup) -> Iterator[Patch]:
    spec = member(pod, "spec")
    if not isinstance(spec, Mapping):
        return
    if group.labels:
        yield add("spec", "nodeSelector", value={**_mapping(spec.get("nodeSelector")), **group.labels})
    if group.affinity is not None and spec.get("affinity") is None:
        yield add("spec", "affinity", value=group.affinity)
    if group.tolerations:
        own = spec.get("tolerations")
        yield add("spec", "tolerations", value=[*(own if isinstance(own, list) else ()), *group.tolerations])
    if group.scheduler_name:
        yield add("spec", "schedulerName", value=group.scheduler_name)


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def _tree_patches(affinity: Mapping[str, Any], requirements: Sequence[Mapping[str, Any]]) -> Iterator[Patch]:
    """Restrict the node selector and all affinity terms to the nodes of the tree, if they are not restricted yet."""
    node_affinity = _mapping(affinity.get("nodeAffinity"))
    required = _mapping(node_affinity.get(_REQUIRED))
    listed = required.get("nodeSelectorTerms")
    terms = [_mapping(term) for term in listed] if isinstance(listed, list) else []
    # an empty term matches no node, and must not match one afterwards
    narrowed = [_narrowed(term, requirements) if term else term for term in terms or [{"matchExpressions": []}]]
    if requirements and narrowed != terms:
        desired = {**node_affinity, _REQUIRED: {**required, "nodeSelectorTerms": narrowed}}
        yield add("spec", "affinity", value={**affinity, "nodeAffinity": desired})


def _narrowed(term: Mapping[str, Any], requirements: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    own = term.get("matchExpressions")
    expressions = list(own) if isinstance(own, list) else []
    more = [each for each in requirements if each not in expressions]
    return {**term, "matchExpressions": [*expressions, *more]} if more else term


def _requirements(selector: LabelSelector) -> Iterator[dict[str, Any]]:
    for key, value in sorted(selector.match_labels.items()):
        yield {"key": key, "operator": "In", "values": [value]}
    for each in selector.match_expressions:
        yield {"key": each.key, "operator": each.operator, **({"values": list(each.values)} if each.values else {})}


def _can_be_required(requirement: Mapping[str, Any]) -> bool:
    """Return whether a pod may request it. The server accepts such selectors of profiles, but not such pods."""
    values = requirement.get("values", ())
    return (
        requirement["operator"] in OPERATORS
        and bool(values) is (requirement["operator"] in {IN, NOT_IN})
        and is_qualified_name(requirement["key"])
        and all(map(is_label_value, values))
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
