"""Structs: the fields of a pod template that the rules read. The rules distinguish absent fields from wrong ones."""

from collections.abc import Mapping
from typing import Any

import msgspec

from pyroclast.model.api.meta import EMPTY, Wire
from pyroclast.model.wire import (
    NodeAffinity,
    PodAffinity,
    PodSchedulingGate,
    ResourceRequirements,
    TemplateMeta,
    Toleration,
)

__all__ = [
    "EnvVar",
    "Template",
    "TemplateAffinity",
    "TemplateContainer",
    "TemplatePort",
    "TemplateProbe",
    "TemplateSpec",
    "TemplateSpreadConstraint",
    "VolumeMount",
]


class TemplatePort(Wire, frozen=True, kw_only=True):
    """A port of a container."""

    name: str = ""
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class EnvVar(Wire, frozen=True, kw_only=True):
    """An environment variable."""

    name: str = ""
    value: str = ""
    value_from: Mapping[str, Any] | None = None


class VolumeMount(Wire, frozen=True, kw_only=True):
    """Mount of a volume in a container."""

    name: str = ""
    mount_path: str = ""
    sub_path: str = ""
    sub_path_expr: str = ""


class TemplateProbe(Wire, frozen=True, kw_only=True):
    """A probe of a container, with exactly one handler."""

    exec_: Mapping[str, Any] | None = msgspec.field(default=None, name="exec")
    http_get: Mapping[str, Any] | None = None
    tcp_socket: Mapping[str, Any] | None = None
    grpc: Mapping[str, Any] | None = None
    initial_delay_seconds: int = 0
    timeout_seconds: int = 1
    period_seconds: int = 10
    success_threshold: int = 1
    failure_threshold: int = 3


class TemplateContainer(Wire, frozen=True, kw_only=True):
    """A container of a pod template."""

    name: str = ""
    image: str = ""
    image_pull_policy: str = ""
    termination_message_policy: str = ""
    restart_policy: str = ""
    ports: tuple[TemplatePort, ...] = ()
    env: tuple[EnvVar, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    liveness_probe: TemplateProbe | None = None
    readiness_probe: TemplateProbe | None = None
    startup_probe: TemplateProbe | None = None


class TemplateAffinity(Wire, frozen=True, kw_only=True):
    """Affinities of a pod."""

    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodAffinity = PodAffinity()
    pod_anti_affinity: PodAffinity = PodAffinity()


class TemplateSpreadConstraint(Wire, frozen=True, kw_only=True):
    """Topology spread constraint of a pod."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""


class DnsConfig(Wire, frozen=True, kw_only=True):
    """DNS settings of a pod."""

    nameservers: tuple[str, ...] = ()


class TemplateSpec(Wire, frozen=True, kw_only=True):
    """Spec of a pod template."""

    containers: tuple[TemplateContainer, ...] = ()
    init_containers: tuple[TemplateContainer, ...] = ()
    ephemeral_containers: tuple[Mapping[str, Any], ...] = ()
    volumes: tuple[Mapping[str, Any], ...] = ()
    restart_policy: str = ""
    dns_policy: str = ""
    dns_config: DnsConfig = DnsConfig()
    node_selector: Mapping[str, str] = EMPTY
    active_deadline_seconds: int | None = None
    hostname: str = ""
    subdomain: str = ""
    host_network: bool = False
    service_account_name: str = ""
    priority_class_name: str = ""
    runtime_class_name: str = ""
    tolerations: tuple[Toleration, ...] = ()
    affinity: TemplateAffinity = TemplateAffinity()
    topology_spread_constraints: tuple[TemplateSpreadConstraint, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()


class Template(Wire, frozen=True, kw_only=True):
    """A pod template."""

    metadata: TemplateMeta = TemplateMeta()
    spec: TemplateSpec = TemplateSpec()
