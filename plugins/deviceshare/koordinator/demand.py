"""Demand of a pod for devices: amounts, and hints in its annotations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from pyroclast.model.devices.koordinator.allocated import read_allocated
from pyroclast.model.devices.koordinator.device_hints import SCOPES, DeviceHints, wishes_of
from pyroclast.model.devices.koordinator.names import ALLOCATED, GPU, ISOLATION_PROVIDER
from pyroclast.model.devices.koordinator.requests import PodDeviceRequest, device_request
from pyroclast.model.devices.koordinator.templates import Templates
from pyroclast.model.scheduling_hints import read_hint
from pyroclast.model.tasks import Task, TaskTemplate
from pyroclast.plugins.deviceshare.koordinator.reasons import NO_TEMPLATE

__all__ = ["DeviceDemand", "demand_of"]

_HINTED: Final = "DeviceShare"
"""Koordinator's name of this plugin in scheduling hints."""
_DEVICE: Final = SCOPES[-1]
_NONE_KNOWN: Final = "none is known, gpuSharedResourceTemplatesConfig names the ConfigMap that lists them"


class Designated(NamedTuple):
    """Devices that another component has decided for a waiting pod."""

    text: str
    """Annotation of the allocated devices."""
    nodes: frozenset[str]
    """Names of the only nodes; empty for any."""


@dataclass(frozen=True, slots=True)
class DeviceDemand:
    """Demand of a template's pods."""

    request: PodDeviceRequest
    wishes: DeviceHints
    isolation: str
    """Isolation provider that must separate pods on one GPU; empty for any."""
    designated: Designated | None = None
    """What is decided already; None to choose."""

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
    provider = task.pod.metadata.labels.get(ISOLATION_PROVIDER, "")
    demand = DeviceDemand(request, wishes_of(task.pod), provider, _designated(task.pod.metadata.annotations))
    gpu = request.gpu
    if gpu is not None and gpu.is_shared and templates.concern(gpu.each) and not templates.anywhere(gpu.each):
        raise ValueError(NO_TEMPLATE if templates.known else f"{NO_TEMPLATE}: {_NONE_KNOWN}")
    if gpu is not None and gpu.count > 1 and demand.wishes.hint(GPU).scope == _DEVICE:
        raise ValueError(f"{gpu.count} GPUs are requested, but requiredTopologyScope Device has only one")
    return demand


def _designated(annotations: Mapping[str, str]) -> Designated | None:
    """Return the devices of a pod that a scheduling hint declares as decided.

    Raises:
        ValueError: The hint or the annotation with the decision cannot be parsed.
    """
    hint, text = read_hint(annotations), annotations.get(ALLOCATED)
    if _HINTED not in hint.extensions or not text:
        return None
    read_allocated({ALLOCATED: text})
    return Designated(text, hint.nodes)
