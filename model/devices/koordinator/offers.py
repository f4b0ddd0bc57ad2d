"""Offers: total amounts of the devices of a node. Koordinator's manager writes them into the node's status, too."""

from pyroclast.model.devices.koordinator.layout import NodeDevices
from pyroclast.model.devices.koordinator.names import CORE, GPU, OFFERED, SHARED, VENDORS_OF_WHOLE, WHOLE_GPU
from pyroclast.model.devices.koordinator.requests import WHOLE
from pyroclast.model.requests import saturated
from pyroclast.model.resources import MILLI

__all__ = ["offers_of"]


def offers_of(devices: NodeDevices) -> dict[str, int]:
    """Return the sum of the amounts of healthy devices, thousandths by resource name."""
    offered: dict[str, int] = {}
    gpus = 0
    for device in devices.layout.devices:
        if device.total is None:
            continue
        gpus += device.type == GPU
        for name, amount in zip(OFFERED[device.type], device.total, strict=True):
            if amount is not None:
                offered[name] = offered.get(name, 0) + amount
    if gpus:
        offered[SHARED] = gpus * WHOLE
        if devices.layout.vendor in VENDORS_OF_WHOLE:
            offered[WHOLE_GPU] = offered.get(CORE, 0)
    return {name: saturated(name, amount * MILLI) for name, amount in sorted(offered.items())}
