"""Templates: one object for all pods with equal requirements for nodes."""

from collections.abc import Callable, Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec.structs import force_setattr

from pyroclast.model import wire
from pyroclast.model.api.names import NUMA_TOPOLOGY_POLICY, PREEMPTABLE, REVOCABLE_ZONE
from pyroclast.model.colocation import LOAD_SCALING_FACTORS, class_marks, is_of_daemon_set
from pyroclast.model.counted import COUNTED, read_counted
from pyroclast.model.devices.koordinator.names import ALLOCATED, DEVICE_ANNOTATIONS, ISOLATION_PROVIDER
from pyroclast.model.devices.names import CARD_ANNOTATIONS
from pyroclast.model.nodenuma.names import RESOURCE_SPEC, RESOURCE_STATUS
from pyroclast.model.requests import PodRequest, is_best_effort, is_resize_infeasible, pod_request
from pyroclast.model.required_rules import RESERVATION_AFFINITY
from pyroclast.model.reservations.names import EXACT_MATCH, IGNORED, RESERVATION_NODE
from pyroclast.model.resources import MILLI, NO_AMOUNTS, PODS, Amounts
from pyroclast.model.scheduling_hints import hint_texts
from pyroclast.model.tasks import (
    SCORING_TYPE,
    SCORING_WEIGHTS,
    TEMPLATE_FIELDS,
    TaskTemplate,
    new_template_number,
)
from pyroclast.model.wire.sealing import seal

__all__ = ["TemplateStore"]

_ENCODER: Final = msgspec.msgpack.Encoder(order="deterministic", enc_hook=dict)
"""The hook encodes the shared empty mapping, the only value of objects that msgspec cannot encode."""
_FENCED_REQUEST: Final[Amounts] = MappingProxyType({PODS: MILLI})

_PLACEMENT_ANNOTATIONS: Final = (
    SCORING_TYPE,
    SCORING_WEIGHTS,
    REVOCABLE_ZONE,
    PREEMPTABLE,
    NUMA_TOPOLOGY_POLICY,
    *CARD_ANNOTATIONS,
    *DEVICE_ANNOTATIONS,
    LOAD_SCALING_FACTORS,
    RESOURCE_SPEC,
    RESERVATION_AFFINITY,
    EXACT_MATCH,
    RESERVATION_NODE,
)
"""Annotations that affect placement: pods that differ in them do not share a template."""
_DECISIONS: Final = (RESOURCE_STATUS, ALLOCATED)
"""Annotations that a scheduling hint may declare as decided."""
_Metadata = tuple[str | bool | None, ...]
_Key = tuple[bytes, bytes, tuple[tuple[str, int], ...], _Metadata]


class TemplateStore:
    """Interns templates by the canonical encoding of the fields that affect placement."""

    def __init__(
        self, fold: Callable[[Amounts], Amounts] = lambda amounts: amounts, *, counts_resized_pods: bool = True
    ) -> None:
        """Start without templates.

        Args:
            fold: Replaces the names of resources without a row by the shared name.
            counts_resized_pods: Whether pods count as the annotation of counted amounts says.
        """
        self._fold, self._counts_resized_pods = fold, counts_resized_pods
        self._folded: dict[int, frozenset[str]] = {}
        """Names of the requested resources by template number, for templates with folded names."""
        self._templates: dict[_Key, TaskTemplate] = {}
        self._fenced: dict[tuple[bytes, _Metadata], TaskTemplate] = {}

    def __len__(self) -> int:
        """Return the number of stored templates."""
        return len(self._templates) + len(self._fenced)

    def template(
        self, pod: wire.Pod, volumes: Amounts = NO_AMOUNTS, reservations: tuple[str, ...] = ()
    ) -> TaskTemplate:
        """Return the template of a pod that needs `volumes` attached and matches the owners of `reservations`.

        Raises:
            ObjectError: An amount of the pod is not a quantity, or is negative.
        """
        key = (
            _encoded(pod.spec),
            _resized(pod),
            tuple(sorted(volumes.items())) if volumes else (),
            (*_placement_metadata(pod), self._counted_text(pod), *reservations),
        )
        known = self._templates.get(key)
        if known is None:
            request = pod_request(pod, volumes)
            request = _counted(pod, request) if self._counts_resized_pods else request
            folded, number = self._fold(request.amounts), new_template_number()
            if folded is not request.amounts:
                self._folded[number] = frozenset(request.amounts)
            known = self._templates[key] = TaskTemplate(
                number=number,
                request=MappingProxyType(folded),
                scored_cpu_millis=request.scored_cpu_millis,
                scored_memory_bytes=request.scored_memory_bytes,
                best_effort=is_best_effort(request.amounts),
                spec=_sealed(_trimmed(pod.spec)),
                reservations=reservations,
            )
        _share(pod, known.spec)
        return known

    def _counted_text(self, pod: wire.Pod) -> str | None:
        return pod.metadata.annotations.get(COUNTED) if self._counts_resized_pods else None

    def fenced(self, pod: wire.Pod, request: Amounts = _FENCED_REQUEST) -> TaskTemplate:
        """Return the template of a pod that requests something else than it says.

        Args:
            pod: A pod whose amounts cannot be read, or that stands for a Reservation on a node.
            request: What it requests, thousandths by name; else one of the pods of a node.
        """
        key = _encoded(pod.spec), (*_placement_metadata(pod), *(f"{name}={request[name]}" for name in sorted(request)))
        known = self._fenced.get(key)
        if known is None:
            known = self._fenced[key] = TaskTemplate(
                number=new_template_number(),
                request=request,
                scored_cpu_millis=0,
                scored_memory_bytes=0,
                best_effort=True,
                spec=_sealed(_trimmed(pod.spec)),
            )
        _share(pod, known.spec)
        return known

    def names(self, template: TaskTemplate) -> Collection[str]:
        """Return the names of the resources that a template requests, before folding."""
        return self._folded.get(template.number) or template.request.keys()

    def forget_names(self, names: AbstractSet[str]) -> None:
        """Forget the templates that request any of these resources, so that they are computed again."""
        self._templates = {key: each for key, each in self._templates.items() if names.isdisjoint(self.names(each))}

    def keep(self, used: Iterable[TaskTemplate]) -> None:
        """Forget all templates except those in use."""
        numbers = {template.number for template in used}
        self._templates = {key: each for key, each in self._templates.items() if each.number in numbers}
        self._fenced = {key: each for key, each in self._fenced.items() if each.number in numbers}
        self._folded = {number: names for number, names in self._folded.items() if number in numbers}


def _sealed(spec: wire.PodSpec) -> wire.PodSpec:
    seal(spec)
    return spec


def _counted(pod: wire.Pod, request: PodRequest) -> PodRequest:
    """Return the request of a pod with what it counts as beyond it. An annotation that cannot be used has no effect."""
    try:
        counted = read_counted(pod.metadata.annotations)
    except ValueError:
        return request
    if not counted:
        return request
    names = sorted(request.amounts.keys() | counted.keys())
    return replace(request, amounts={name: max(request.amounts.get(name, 0), counted.get(name, 0)) for name in names})


def _share(pod: wire.Pod, spec: wire.PodSpec) -> None:
    """Let a pod share the read-only rules of its template, which are equal, and make its other mappings read-only."""
    for name in TEMPLATE_FIELDS:
        force_setattr(pod.spec, name, getattr(spec, name))
    for volume in pod.spec.volumes:
        if volume.ephemeral is not None:
            seal(volume)
    seal(pod.status)


def _placement_metadata(pod: wire.Pod) -> _Metadata:
    """Return the values of metadata and priority that affect placement."""
    metadata = pod.metadata
    marks: _Metadata = (
        metadata.labels.get(ISOLATION_PROVIDER),
        metadata.namespace if metadata.labels.get(IGNORED) == "true" else "",  # it may need permission
        *class_marks(pod),
        is_of_daemon_set(pod),
    )
    hint = hint_texts(metadata.annotations)
    if any(hint):  # only then what a pod brings along is a decision
        marks = (*marks, *hint, *map(metadata.annotations.get, _DECISIONS))
    return (*map(metadata.annotations.get, _PLACEMENT_ANNOTATIONS), *marks)


def _encoded(spec: wire.PodSpec) -> bytes:
    return _ENCODER.encode(
        (
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            spec.containers,
            spec.init_containers,
            spec.overhead,
            spec.resources,
            _inline(spec.volumes),
            spec.host_network,
        )
    )


def _inline(volumes: tuple[wire.Volume, ...]) -> list[wire.Volume]:
    """Return the inline volumes that affect placement, without their names."""
    return [
        msgspec.structs.replace(volume, name="")
        for volume in volumes
        if volume.aws_elastic_block_store
        or volume.gce_persistent_disk
        or volume.azure_disk
        or volume.iscsi
        or volume.rbd
        or volume.image
    ]


def _resized(pod: wire.Pod) -> bytes:
    """Encode how the allocated amounts of pod and containers differ from their requests; empty if they do not."""
    status = pod.status
    whole = _resized_as_a_whole(pod)
    if whole is None and not status.container_statuses and not status.init_container_statuses:
        return b""
    asked = {container.name: container.resources.requests for container in pod.spec.containers}
    asked.update((container.name, container.resources.requests) for container in pod.spec.init_containers)
    differing = [
        (each.name, each.resources.requests, each.allocated_resources)
        for each in (*status.container_statuses, *status.init_container_statuses)
        if each.resources is not None and _differs(each, asked.get(each.name))
    ]
    if whole is None and not differing:
        return b""
    return _ENCODER.encode((whole, differing, is_resize_infeasible(pod)))


def _resized_as_a_whole(pod: wire.Pod) -> tuple[wire.ResourceList, wire.ResourceList] | None:
    """Return the actual and allocated amounts of a pod with pod-level requests; None if they equal the requests."""
    asked, status = pod.spec.resources, pod.status
    if asked is None or not asked.requests or status.resources is None or not _differs(status, asked.requests):
        return None
    return status.resources.requests, status.allocated_resources


def _differs(status: wire.ContainerStatus | wire.PodStatus, asked: wire.ResourceList | None) -> bool:
    given = status.resources.requests if status.resources is not None else None
    return given != asked or (bool(status.allocated_resources) and status.allocated_resources != asked)


def _trimmed(spec: wire.PodSpec) -> wire.PodSpec:
    """Remove the fields that differ between pods of one template."""
    return msgspec.structs.replace(
        spec,
        scheduler_name="",
        node_name="",
        priority=None,
        priority_class_name="",
        preemption_policy="",
        volumes=tuple(_inline(spec.volumes)),
        scheduling_gates=(),
        scheduling_group=None,
        resource_claims=(),
        restart_policy="",
        termination_grace_period_seconds=None,
        active_deadline_seconds=None,
        hostname="",
        subdomain="",
    )
