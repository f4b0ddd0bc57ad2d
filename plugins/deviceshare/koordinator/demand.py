"""Demand of a pod for devices: amounts, and hints in its annotations."""

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
    """Demand of a template's pods."""

    request: PodDeviceRequest
    wishes: DeviceHints
    isolation: str
    """Isolation provider that must separate pods on one GPU; empty for any."""

    @property
    def types(self) -> tuple[str, ...]:
        """Requested types, in the order of `TYPES`."""
        return (*((GPU,) if self.request.gpu else ()), *(kind for kind, _ in self.request.quantities))


def demand_of(template: TaskTemplate, task: Task, templates: Templates) -> DeviceDemand | None:
    """Return the demand of a template's pods; None for no demand.

    Args:
        template: The template.
        task: One of its tasks.
        templates: Permitted shares of some GPU models.

    Raises:
        ValueError: The demand cannot be read or is not supported.
    """
    request = device_request(template.request)
    if request is None:
        return None
    demand = DeviceDemand(request, wishes_of(task.pod), task.pod.metadata.labels.get(ISOLATION_PROVIDER, ""))
    gpu = request.gpu
    if gpu is not None and gpu.is_shared and templates.concern(gpu.each) and not templates.anywhere(gpu.each):
        raise ValueError(NO_TEMPLATE if templates.known else f"{NO_TEMPLATE}: {_NONE_KNOWN}")
    if gpu is not None and gpu.count > 1 and demand.wishes.hint(GPU).scope == _DEVICE:
        raise ValueError(f"{gpu.count} GPUs are requested, but requiredTopologyScope Device has only one")
    return demand
