"""Names inside a pod's specification: of volumes and what mounts them, and of the pod in the network."""

from typing import Any

from pyroclast.emulator.labels import dns_label_faults
from pyroclast.emulator.strategies import Faults, invalid_value, required
from pyroclast.emulator.trees import items_at, value_at

__all__ = ["label_name_faults", "name_faults"]


def label_name_faults(field: str, name: Any, taken: set[str]) -> Faults:
    """What is wrong with a name that is a DNS label among others, which it joins."""
    faults = [invalid_value(field, name, text) for text in dns_label_faults(str(name))]
    if not faults and name in taken:
        faults.append({"field": field, "reason": "FieldValueDuplicate", "message": f'Duplicate value: "{name}"'})
    taken.add(str(name))
    return faults


def name_faults(spec: Any) -> Faults:
    """What is wrong with the names of a specification, other than those of its containers."""
    faults: Faults = []
    volumes: set[str] = set()
    for position, volume in enumerate(items_at(spec, "volumes")):
        field, name = f"spec.volumes[{position}].name", value_at(volume, "name")
        faults += label_name_faults(field, name, volumes) if name else [required(field)]
    for group in ("initContainers", "containers"):
        for position, container in enumerate(items_at(spec, group)):
            for place, mount in enumerate(items_at(container, "volumeMounts")):
                name = value_at(mount, "name")
                if name not in volumes:
                    field = f"spec.{group}[{position}].volumeMounts[{place}].name"
                    faults.append({"field": field, "reason": "FieldValueNotFound", "message": f'Not found: "{name}"'})
    for key in ("hostname", "subdomain"):
        if name := value_at(spec, key):
            faults += [invalid_value(f"spec.{key}", name, text) for text in dns_label_faults(str(name))]
    return faults
