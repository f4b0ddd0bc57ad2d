"""A template of a pod as far as the rules look at it, and as they tell what is left out from what is wrong."""

from collections.abc import Mapping
from typing import Any

import msgspec

from pyroclast.model.wire import NodeAffinity, PodAffinity, PodSchedulingGate, Toleration
from pyroclast.model.wire.base import EMPTY, ResourceList, Wire

__all__ = [
    "Affinity",
    "Container",
    "ContainerPort",
    "EnvVar",
    "Probe",
    "Resources",
    "SpreadConstraint",
    "Template",
    "TemplateMeta",
    "TemplateSpec",
    "VolumeMount",
]


class ContainerPort(Wire, frozen=True, kw_only=True):
    """A port."""

    name: str = ""
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class EnvVar(Wire, frozen=True, kw_only=True):
    """A variable."""

    name: str = ""
    value: str = ""
    value_from: Mapping[str, Any] | None = None


class VolumeMount(Wire, frozen=True, kw_only=True):
    """Where a volume shows."""

    name: str = ""
    mount_path: str = ""
    sub_path: str = ""
    sub_path_expr: str = ""


class Resources(Wire, frozen=True, kw_only=True):
    """What a container asks for, and may use."""

    requests: ResourceList = EMPTY
    limits: ResourceList = EMPTY


class Probe(Wire, frozen=True, kw_only=True):
    """A question to a container; exactly one way of asking."""

    exec_: Mapping[str, Any] | None = msgspec.field(default=None, name="exec")
    http_get: Mapping[str, Any] | None = None
    tcp_socket: Mapping[str, Any] | None = None
    grpc: Mapping[str, Any] | None = None
    initial_delay_seconds: int = 0
    timeout_seconds: int = 1
    period_seconds: int = 10
    success_threshold: int = 1
    failure_threshold: int = 3


class Container(Wire, frozen=True, kw_only=True):
    """A container."""

    name: str = ""
    image: str = ""
    image_pull_policy: str = ""
    termination_message_policy: str = ""
    restart_policy: str = ""
    ports: tuple[ContainerPort, ...] = ()
    env: tuple[EnvVar, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    resources: Resources = Resources()
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None


class Affinity(Wire, frozen=True, kw_only=True):
    """Where a pod would go."""

    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodAffinity = PodAffinity()
    pod_anti_affinity: PodAffinity = PodAffinity()


class SpreadConstraint(Wire, frozen=True, kw_only=True):
    """How evenly pods are spread."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""


class DnsConfig(Wire, frozen=True, kw_only=True):
    """Where names are asked for."""

    nameservers: tuple[str, ...] = ()


class TemplateSpec(Wire, frozen=True, kw_only=True):
    """What runs."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
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
    affinity: Affinity = Affinity()
    topology_spread_constraints: tuple[SpreadConstraint, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()


class TemplateMeta(Wire, frozen=True, kw_only=True):
    """Labels and annotations of the pods."""

    labels: Mapping[str, str] = EMPTY
    annotations: Mapping[str, str] = EMPTY


class Template(Wire, frozen=True, kw_only=True):
    """A template of a pod."""

    metadata: TemplateMeta = TemplateMeta()
    spec: TemplateSpec = TemplateSpec()
