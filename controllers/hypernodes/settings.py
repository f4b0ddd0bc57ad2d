"""Settings of discovery: types of networks by labels, parsed from the text of a ConfigMap, with all faults.

networkTopologyDiscovery:
  - source: label
    enabled: true
    config:
      networkTopologyTypes:
        racks:
          - nodeLabel: example.com/row
          - nodeLabel: example.com/rack
          - nodeLabel: kubernetes.io/hostname
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from pyroclast.controllers.admission.rules.names import DNS_SUBDOMAIN, is_dns_subdomain
from pyroclast.controllers.hypernodes.discovery import name_prefix
from pyroclast.model.yaml_faults import YAML_FAULTS, yaml_fault

__all__ = ["DiscoverySettings", "SettingsFault", "read_settings"]

_LONGEST_TYPE: Final = 20
"""Characters of a type's name, which is part of its HyperNodes' names."""
_LARGEST_TEXT: Final = 2**20
"""Bytes; no ConfigMap is larger."""
_VENDORS: Final = frozenset({"ufm", "roce"})


@dataclass(frozen=True, slots=True)
class SettingsFault:
    """Fault of the settings, and its path."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoverySettings:
    """Settings of the discovery."""

    types: Mapping[str, tuple[str, ...]] | None = None
    """Labels by type of network, the narrowest domain first. None if discovery by labels is disabled."""
    faults: tuple[SettingsFault, ...] = ()
    is_sound: bool = True
    """Whether the settings of the label source have no fault.

    Otherwise no HyperNode changes, because a fault must not delete HyperNodes.
    """


@dataclass(slots=True)
class _Reading:
    faults: list[SettingsFault] = field(default_factory=list)

    def fault(self, path: str, message: str) -> None:
        self.faults.append(SettingsFault(path, message))


def read_settings(text: str) -> DiscoverySettings:
    """Parse settings. Any text is accepted without an exception."""
    reading = _Reading()
    sources = list(_enabled_sources(text, reading))
    for path, source in sources:
        if source.get("source") in _VENDORS:
            message = (
                f"{source['source']} asks a vendor's service, which is not supported; its HyperNodes stay as they are"
            )
            reading.fault(f"{path}.source", message)
        elif source.get("source") != "label":
            reading.fault(f"{path}.source", f"{source.get('source')!r} is not a source: label is")
    others = len(reading.faults)
    label = next(((path, source) for path, source in sources if source.get("source") == "label"), None)
    types = _types(*label, reading) if label is not None else None
    return DiscoverySettings(types=types, faults=tuple(reading.faults), is_sound=len(reading.faults) == others)


def _enabled_sources(text: str, reading: _Reading) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the enabled entries with their paths."""
    root = "networkTopologyDiscovery"
    try:
        content = yaml.safe_load(text[:_LARGEST_TEXT]) or {}
    except YAML_FAULTS as error:
        reading.fault(root, f"the text is not YAML: {yaml_fault(error)}")
        return
    listed = content.get(root) or [] if isinstance(content, dict) else None
    if not isinstance(listed, list):
        reading.fault(root, "is not a list")
        return
    for number, entry in enumerate(listed):
        path = f"{root}[{number}]"
        if not isinstance(entry, dict):
            reading.fault(path, "is not a mapping")
        elif not isinstance(entry.get("enabled", False), bool):
            reading.fault(f"{path}.enabled", f"{entry['enabled']!r} is not true or false")
        elif entry.get("enabled"):
            yield path, entry


def _types(path: str, source: Mapping[str, Any], reading: _Reading) -> dict[str, tuple[str, ...]]:
    """Parse the types of networks, in order of their names."""
    path = f"{path}.config.networkTopologyTypes"
    config = source.get("config") or {}
    named = config.get("networkTopologyTypes") or {} if isinstance(config, dict) else None
    if not isinstance(named, dict):
        reading.fault(path, "is not a mapping of names to lists of labels")
        return {}
    types: dict[str, tuple[str, ...]] = {}
    for name, entries in sorted(named.items(), key=lambda item: str(item[0])):
        labels = _labels(f"{path}.{name}", entries, reading)
        if len(str(name)) > _LONGEST_TYPE:
            reading.fault(f"{path}.{name}", f"the name is longer than {_LONGEST_TYPE} characters")
        elif not is_dns_subdomain(example := f"{name_prefix(str(name), 1)}x"):
            reading.fault(f"{path}.{name}", f"no HyperNode can be named {example}: expected {DNS_SUBDOMAIN}")
        elif labels is not None:
            types[str(name)] = labels
    return types


def _labels(path: str, entries: object, reading: _Reading) -> tuple[str, ...] | None:
    """Parse the labels of a type. They are written from the widest domain to the node, which is no domain."""
    if not isinstance(entries, list):
        reading.fault(path, "is not a list of labels")
        return None
    labels: list[str] = []
    for number, entry in enumerate(entries):
        label = entry.get("nodeLabel") if isinstance(entry, dict) else None
        if not isinstance(label, str) or not label:
            reading.fault(f"{path}[{number}].nodeLabel", "is not the name of a label")
            return None
        if label in labels:
            reading.fault(f"{path}[{number}].nodeLabel", f"{label} is there twice")
            return None
        labels.append(label)
    return tuple(reversed(labels[:-1]))
