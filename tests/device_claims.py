"""Resource claims for tests: classes, slices, claims, and what pods name."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["DRIVER", "allocated", "claim", "device", "device_class", "devices_of", "exactly", "resource_slice", "using"]

DRIVER = "gpu.example.com"
API = "resource.k8s.io/v1"


def device_class(name: str = "gpu", *selectors: str, **spec: Any) -> dict[str, Any]:
    """A class of devices, by expressions."""
    listed = [{"cel": {"expression": each}} for each in selectors]
    return {
        "apiVersion": API,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {**({"selectors": listed} if listed else {}), **spec},
    }


def device(
    name: str, *, memory: str = "", taints: Sequence[Mapping[str, str]] = (), **attributes: Any
) -> dict[str, Any]:
    """A device of a slice; a text `version` is a version."""
    kinds = {bool: "bool", int: "int", str: "string"}
    made: dict[str, Any] = {
        "name": name,
        "attributes": {
            key: {"version" if key == "version" else kinds[type(value)]: value} for key, value in attributes.items()
        },
    }
    if memory:
        made["capacity"] = {"memory": {"value": memory}}
    if taints:
        made["taints"] = list(taints)
    return made


def resource_slice(name: str, *devices: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    """A slice of a pool of its name; on the node of its name unless `spec` places it elsewhere."""
    places = {"nodeName", "allNodes", "nodeSelector", "perDeviceNodeSelection"}
    spec = spec if places & spec.keys() else {"nodeName": name, **spec}
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1, **spec.pop("pool", {})}
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {"driver": DRIVER, "pool": pool, "devices": list(devices), **spec},
    }


def exactly(name: str = "r", *selectors: str, **fields: Any) -> dict[str, Any]:
    """A request for devices of class `gpu`."""
    listed = [{"cel": {"expression": each}} for each in selectors]
    exact = {"deviceClassName": "gpu", **({"selectors": listed} if listed else {}), **fields}
    return {"name": name, "exactly": exact}


def claim(
    name: str, *requests: Mapping[str, Any], status: Mapping[str, Any] | None = None, **devices: Any
) -> dict[str, Any]:
    """A claim; by default for one device of class `gpu`."""
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": list(requests or [exactly()]), **devices}},
        "status": dict(status or {}),
    }


def allocated(*devices: str, node: str = "", uids: Sequence[str] = ()) -> dict[str, Any]:
    """The status of a claim with devices, each `pool/device`, for pods."""
    results = [
        {"request": "r", "driver": DRIVER, "pool": pool, "device": name}
        for pool, _, name in (each.partition("/") for each in devices)
    ]
    allocation: dict[str, Any] = {"devices": {"results": results}}
    if node:
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {
        "allocation": allocation,
        "reservedFor": [{"resource": "pods", "name": uid, "uid": uid} for uid in uids],
    }


def using(*claims: str) -> dict[str, Any]:
    """The part of a pod's specification that names claims."""
    return {"resourceClaims": [{"name": f"c{number}", "resourceClaimName": each} for number, each in enumerate(claims)]}


def devices_of(claims: Mapping[str, Any], name: str) -> list[str]:
    """The devices that a claim has, as `pool/device`, or for an alternative `request:pool/device`."""
    allocation = claims[f"default/{name}"].status.allocation
    if allocation is None:
        return []
    return [
        f"{each.request}:{each.pool}/{each.device}" if "/" in each.request else f"{each.pool}/{each.device}"
        for each in allocation.devices.results
    ]
