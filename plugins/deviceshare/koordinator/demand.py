"""What a pod asks of devices: amounts, and what its annotations want beyond them."""

from dataclasses import dataclass
from typing import Final

from pyroclast.model.devices.koordinator.device_hints import SCOPES, DeviceHints, wishes_of
from pyroclast.model.devices.koordinator.names import GPU, ISOLATION_PROVIDER
from pyroclast.model.devices.koordinator.requests import PodDeviceRequest, device_request
from pyroclast.model.devices.koordinator.templates import Templates
from pyroclast.model.tasks import Task, TaskTemplate
from pyroclast.plugins.deviceshare.koordinator.reasons import NO_TEMPLATE

__all__ = ["DeviceDemand", "demand_of"]

_DEVICE: Final = SCOPES[-1]
_NONE_KNOWN: Final = "none is known, gpuSharedResourceTemplatesConfig names the ConfigMap that lists them"


@dataclass(frozen=True, slots=True)
class DeviceDemand:
    """What pods of one template ask for."""

    request: PodDeviceRequest
    wishes: DeviceHints
    isolation: str
    """What must keep pods on one GPU apart; empty where anything will do."""

    @property
    def types(self) -> tuple[str, ...]:
        """Types that are asked for, in the order of `TYPES`."""
        return (*((GPU,) if self.request.gpu else ()), *(kind for kind, _ in self.request.quantities))


def demand_of(template: TaskTemplate, task: Task, templates: Templates) -> DeviceDemand | None:
    """Return what pods of a template ask for; None for nothing.

    Args:
        template: The template of pods.
        task: One of them.
        templates: Shares that some models of GPUs can be given in.

    Raises:
        ValueError: That cannot be read, or is not served.
    """
    request = device_request(template.request)
    if request is None:
        return None
    demand = DeviceDemand(request, wishes_of(task.pod), task.pod.metadata.labels.get(ISOLATION_PROVIDER, ""))
    gpu = request.gpu
    if gpu is not None and gpu.is_shared and templates.concern(gpu.each) and not templates.anywhere(gpu.each):
        raise ValueError(NO_TEMPLATE if templates.known else f"{NO_TEMPLATE}: {_NONE_KNOWN}")
    if gpu is not None and gpu.count > 1 and demand.wishes.hint(GPU).scope == _DEVICE:
        raise ValueError(f"{gpu.count} GPUs are asked for, and requiredTopologyScope Device holds one")
    return demand
