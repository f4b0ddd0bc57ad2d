"""Resource groups: a file of the operator that assigns new pods to labelled nodes.

    resourceGroups:
    - resourceGroup: gpu                      # pods annotated volcano.sh/resource-group: gpu
      labels: {volcano.sh/nodetype: gpu}      # ... run on nodes with this label
      tolerations: [{key: gpu, operator: Exists}]
    - resourceGroup: management
      object: {key: namespace, value: [mng-ns-1]}
      schedulerName: default-scheduler

The format is Volcano's. A file with a fault is not used, and the error names all faults.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import yaml

from pyroclast.model.annotations import read_json
from pyroclast.model.api.meta import EMPTY, Wire
from pyroclast.model.errors import ConfigError
from pyroclast.model.yaml_faults import YAML_FAULTS, yaml_fault

__all__ = ["ResourceGroup", "read_resource_groups"]

DEFAULT_ANNOTATION: Final = "volcano.sh/resource-group"
"""Annotation of pods that selects the group, for groups without a matcher."""

_MATCHERS: Final = ("", "annotation", "namespace")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceGroup:
    """Fields that are set on the pods of a group."""

    name: str
    namespaces: frozenset[str] = frozenset()
    """Pods of these namespaces belong to the group."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Pods with one of these annotations belong to the group."""
    scheduler_name: str = ""
    tolerations: tuple[Mapping[str, Any], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the nodes for the pods of the group."""
    affinity: Mapping[str, Any] | None = None

    def matches(self, namespace: str, annotations: Mapping[str, Any]) -> bool:
        """Return whether a pod belongs to the group."""
        return namespace in self.namespaces or any(
            annotations.get(key) == value for key, value in self.annotations.items()
        )


class _Matcher(Wire, frozen=True, kw_only=True):
    key: str = ""
    value: tuple[str, ...] = ()


class _Group(Wire, frozen=True, kw_only=True):
    resource_group: str = ""
    object: _Matcher = _Matcher()
    scheduler_name: str = ""
    tolerations: tuple[Mapping[str, Any], ...] = ()
    labels: Mapping[str, str] = EMPTY
    affinity: str = ""


class _File(Wire, frozen=True, kw_only=True):
    resource_groups: tuple[_Group, ...] = ()


def read_resource_groups(text: str) -> tuple[ResourceGroup, ...]:
    """Read the file.

    Raises:
        ConfigError: The file is invalid. The message lists all faults.
    """
    try:
        content = msgspec.convert(yaml.safe_load(text) or {}, _File)
    except msgspec.ValidationError as error:
        raise ConfigError(f"resource groups: {error}") from error
    except YAML_FAULTS as error:
        raise ConfigError(f"resource groups: not YAML: {yaml_fault(error)}") from error
    faults: list[str] = []
    groups = tuple(
        _group(group, f"resourceGroups[{number}]", faults) for number, group in enumerate(content.resource_groups)
    )
    if faults:
        raise ConfigError(*faults)
    return groups


def _group(group: _Group, path: str, faults: list[str]) -> ResourceGroup:
    matcher = group.object
    if matcher.key not in _MATCHERS:
        faults.append(f"{path}.object.key: got {matcher.key!r}, expected annotation or namespace")
    annotations = {} if matcher.key == "namespace" else _annotations(matcher.value, f"{path}.object.value", faults)
    if not matcher.key:
        annotations.setdefault(DEFAULT_ANNOTATION, group.resource_group)
    return ResourceGroup(
        name=group.resource_group,
        namespaces=frozenset(matcher.value) if matcher.key == "namespace" else frozenset(),
        annotations=annotations,
        scheduler_name=group.scheduler_name,
        tolerations=group.tolerations,
        labels=group.labels,
        affinity=_affinity(group.affinity, f"{path}.affinity", faults),
    )


def _annotations(texts: tuple[str, ...], path: str, faults: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, text in enumerate(texts):
        try:
            pairs = msgspec.convert(yaml.safe_load(text), dict[str, str], strict=False)
        except YAML_FAULTS:
            faults.append(f"{path}[{number}]: got {text!r}, expected '<annotation>: <value>'")
        else:
            found = {**pairs, **found}
    return found


def _affinity(text: str, path: str, faults: list[str]) -> Mapping[str, Any] | None:
    if not text:
        return None
    try:
        return read_json(text, dict[str, Any])
    except ValueError as error:
        faults.append(f"{path}: got {text!r}, expected an affinity as JSON: {error}")
        return None
