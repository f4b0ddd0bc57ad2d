"""Pods as controllers see them: whose they are, what they need, and how they fare; where they may run is left out."""

from typing import Final

from pyroclast.kube.resources import Resource
from pyroclast.model import wire
from pyroclast.model.api.meta import ObjectMeta
from pyroclast.model.quota_usage import PodNeeds
from pyroclast.model.wire.base import Condition, Wire

__all__ = ["PODS", "ContainerState", "ContainerStatus", "Pod", "PodSpec", "PodStatus", "Terminated", "Waiting"]


class PodSpec(PodNeeds, frozen=True, kw_only=True):
    """What a pod asks for."""

    scheduler_name: str = ""
    node_name: str = ""
    priority_class_name: str = ""
    scheduling_gates: tuple[wire.PodSchedulingGate, ...] = ()
    restart_policy: str = ""
    hostname: str = ""
    subdomain: str = ""


class Terminated(Wire, frozen=True, kw_only=True):
    """How a container ended."""

    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    finished_at: str = ""


class Waiting(Wire, frozen=True, kw_only=True):
    """Why a container does not run yet."""

    reason: str = ""
    message: str = ""


class ContainerState(Wire, frozen=True, kw_only=True):
    """What a container does; that it runs is not read."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(Wire, frozen=True, kw_only=True):
    """How a container fares."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(Wire, frozen=True, kw_only=True):
    """How a pod fares."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    start_time: str = ""
    pod_ip: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Wire, frozen=True, kw_only=True):
    """A pod."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


PODS: Final = Resource(version="v1", plural="pods", kind="Pod", struct=Pod, is_namespaced=True)
"""Pods with this struct; `kube.resources.PODS` is the scheduler's."""
