"""Scopes: the pods that a ResourceQuota counts, by the rules of Kubernetes' quota controller."""

from collections.abc import Iterator, Sequence

from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model import wire
from pyroclast.model.quantity import QuantityError, parse
from pyroclast.model.resources import CPU, MEMORY

__all__ = ["concerns_job", "counts_pod"]

_BY_PRIORITY_CLASS = "PriorityClass"
_CONTAINER_RESOURCES = frozenset({CPU, MEMORY})


def counts_pod(quota: wire.ResourceQuota, pod: wire.Pod) -> bool:
    """Return whether a quota counts a pod: all of its scopes must match."""
    return all(_matches(each, pod) for each in _requirements(quota))


def concerns_job(quota: wire.ResourceQuota, job: SessionJob) -> bool:
    """Return whether a quota counts any pod of a job, existing or future.

    Future pods are assumed to be like the existing ones. If there are none, the PodGroup defines the priority class,
    and a minimum of CPU or memory means that the pods are not BestEffort. Any other scope is assumed to match.
    """
    pods = [task.pod for task in job.tasks.values()]
    if pods:
        return any(counts_pod(quota, pod) for pod in pods)
    return all(_may_match(each, job) for each in _requirements(quota))


def _requirements(quota: wire.ResourceQuota) -> Iterator[wire.ScopedResourceSelectorRequirement]:
    for scope in quota.spec.scopes:
        yield wire.ScopedResourceSelectorRequirement(scope_name=scope, operator="Exists")
    if quota.spec.scope_selector is not None:
        yield from quota.spec.scope_selector.match_expressions


def _matches(requirement: wire.ScopedResourceSelectorRequirement, pod: wire.Pod) -> bool:
    match requirement.scope_name:
        case "Terminating":
            return pod.spec.active_deadline_seconds is not None
        case "NotTerminating":
            return pod.spec.active_deadline_seconds is None
        case "BestEffort":
            return _is_best_effort(pod)
        case "NotBestEffort":
            return not _is_best_effort(pod)
        case "PriorityClass":
            return _selects(requirement.operator, requirement.values, pod.spec.priority_class_name)
        case "CrossNamespacePodAffinity":
            return any(term.namespaces or term.namespace_selector is not None for term in _affinity_terms(pod))
        case _:
            return True


def _may_match(requirement: wire.ScopedResourceSelectorRequirement, job: SessionJob) -> bool:
    spec = job.job.group.spec
    if requirement.scope_name == "BestEffort":
        return not any(_is_positive(amount) for name, amount in (spec.min_resources or {}).items() if _is_asked(name))
    if requirement.scope_name == _BY_PRIORITY_CLASS and spec.priority_class_name:
        return _selects(requirement.operator, requirement.values, spec.priority_class_name)
    return True


def _selects(operator: str, values: Sequence[str], name: str) -> bool:
    match operator:
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "DoesNotExist":
            return not name
        case _:
            return bool(name)


def _is_best_effort(pod: wire.Pod) -> bool:
    """Return whether no container requests or limits CPU or memory (Kubernetes' QoS class)."""
    pod_level = () if pod.spec.resources is None else (pod.spec.resources,)
    each = [*pod_level, *(container.resources for container in (*pod.spec.containers, *pod.spec.init_containers))]
    lists = [amounts for resources in each for amounts in (resources.requests, resources.limits)]
    return not any(_is_positive(amounts.get(name, 0)) for amounts in lists for name in _CONTAINER_RESOURCES)


def _affinity_terms(pod: wire.Pod) -> Iterator[wire.PodAffinityTerm]:
    affinity = pod.spec.affinity
    if affinity is None:
        return
    for kind in (affinity.pod_affinity, affinity.pod_anti_affinity):
        if kind is not None:
            yield from kind.required
            yield from (weighted.pod_affinity_term for weighted in kind.preferred)


def _is_asked(name: str) -> bool:
    return name.removeprefix("requests.").removeprefix("limits.") in _CONTAINER_RESOURCES


def _is_positive(amount: wire.Quantity) -> bool:
    try:
        return parse(amount) > 0
    except QuantityError:
        return False
