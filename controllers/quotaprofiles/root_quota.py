"""Root quota: the ElasticQuota of a profile, the root of a tree with the total resources of its nodes."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pyroclast.model.annotations import read_json
from pyroclast.model.api.quota import ElasticQuota, ElasticQuotaProfile
from pyroclast.model.elastic.names import (
    IS_ROOT,
    PROFILE,
    RESOURCE_KEYS,
    TOTAL_RESOURCE,
    TREE_ID,
    UNSCHEDULABLE_RESOURCE,
)
from pyroclast.model.elastic.tree import BUILT_IN
from pyroclast.model.matching.selectors import Selector, unreadable
from pyroclast.model.quantity import MAX_AMOUNT, QuantityError, format_bytes, format_millis, millis, parse, units
from pyroclast.model.wire import Node

__all__ = ["Root", "change_of", "faults_of", "faults_of_root", "root_of", "takes_pods", "tree_of"]

CPU, MEMORY = "cpu", "memory"
_NO_LIMIT: Final = MAX_AMOUNT // 2000
"""Maximum of a root. The resources of its tree are the actual limit."""
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """The desired root ElasticQuota."""

    labels: Mapping[str, str]
    total: Mapping[str, int]
    """Sum of the nodes' resources: CPU in thousandths, other resources in units."""
    unschedulable: Mapping[str, int]
    """The part of the sum on nodes that accept no pods."""
    keys: tuple[str, ...]
    """Resources with a guarantee for the tree."""

    def manifest(self) -> dict[str, Any]:
        """Return labels, annotations and spec."""
        return {
            "metadata": {"labels": dict(self.labels), "annotations": self._annotations()},
            "spec": {
                "min": {key: _written(key, self.total.get(key, 0)) for key in self.keys},
                "max": dict.fromkeys(self.keys, str(_NO_LIMIT)),
            },
        }

    def _annotations(self) -> dict[str, str]:
        amounts = {TOTAL_RESOURCE: self.total, UNSCHEDULABLE_RESOURCE: self.unschedulable}
        return {
            key: _json({name: _written(name, each[name]) for name in sorted(each)}) for key, each in amounts.items()
        }


def faults_of(profile: ElasticQuotaProfile) -> Iterator[str]:
    """Return the faults of a profile. An invalid ratio, or invalid resource keys, count as absent."""
    yield from faults_of_root(profile)
    if _ratio(profile) is None:
        yield f"spec.resourceRatio: {profile.spec.resource_ratio!r} is no number above 0 and at most 1"
    if _keys(profile) is None:
        yield f"metadata.annotations.{RESOURCE_KEYS}: is no list of resource names"


def faults_of_root(profile: ElasticQuotaProfile) -> Iterator[str]:
    """Return the faults that prevent a root quota."""
    if not profile.spec.quota_name:
        yield "spec.quotaName: is missing"
    if profile.spec.quota_name in BUILT_IN:
        yield f"spec.quotaName: {profile.spec.quota_name} is built in, and no root of a tree"
    for path, message in unreadable(profile.spec.node_selector):
        yield f"spec.nodeSelector.{path}: {message}"


def tree_of(profile: ElasticQuotaProfile) -> str:
    """Return the tree of a profile: its label, or the hash of namespace and name (FNV-1a, 64 bits)."""
    label = profile.metadata.labels.get(TREE_ID)
    if label:
        return label
    number = 0xCBF29CE484222325
    for byte in f"{profile.metadata.namespace}/{profile.metadata.name}".encode():
        number = (number ^ byte) * 0x100000001B3 % 2**64
    return str(number)


def takes_pods(node: Node) -> bool:
    """Return whether a node is ready and not cordoned."""
    is_ready = any(each.type == "Ready" and each.status == "True" for each in node.status.conditions)
    return is_ready and not node.spec.unschedulable


def root_of(profile: ElasticQuotaProfile, nodes: Iterable[Node]) -> Root:
    """Return the root of a profile: the sum of the nodes that its selector matches, multiplied by its ratio."""
    selector = Selector.of(profile.spec.node_selector)
    meant = [node for node in nodes if selector.matches(node.metadata.labels)]
    ratio = _ratio(profile) or 1.0
    tree_labels = {TREE_ID: tree_of(profile), IS_ROOT: "true", PROFILE: profile.metadata.name}
    return Root(
        labels={**profile.spec.quota_labels, **tree_labels},
        total=_sum(meant, ratio),
        unschedulable=_sum((node for node in meant if not takes_pods(node)), ratio),
        keys=_keys(profile) or (CPU, MEMORY),
    )


def change_of(there: ElasticQuota, root: Root) -> dict[str, Any]:
    """Return the merge patch to the desired quota, empty if nothing differs. Amounts are compared by value."""
    desired, labels, annotations = root.manifest(), there.metadata.labels, there.metadata.annotations
    change: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    if not root.labels.items() <= labels.items():
        metadata["labels"] = desired["metadata"]["labels"]
    for key, amounts in ((TOTAL_RESOURCE, root.total), (UNSCHEDULABLE_RESOURCE, root.unschedulable)):
        if _read(annotations.get(key, "")) != dict(amounts):
            metadata.setdefault("annotations", {})[key] = desired["metadata"]["annotations"][key]
    if metadata:
        change["metadata"] = metadata
    spec = {
        name: {**dict.fromkeys(has.keys() - should.keys()), **should}
        for name, has, should in (
            ("min", there.spec.min, desired["spec"]["min"]),
            ("max", there.spec.max, desired["spec"]["max"]),
        )
        if _amounts(has) != _amounts(should)
    }
    return change | ({"spec": spec} if spec else {})


def _sum(nodes: Iterable[Node], ratio: float) -> dict[str, int]:
    total: dict[str, int] = {}
    for node in nodes:
        for name, amount in (_amounts(node.status.allocatable) or {}).items():
            total[name] = total.get(name, 0) + amount
    # floating-point numbers as in Koordinator, because its controller may run too, and both must write the same values
    return total if ratio == 1 else {name: int(amount * ratio) for name, amount in total.items()}


def _ratio(profile: ElasticQuotaProfile) -> float | None:
    """Return the ratio of the nodes' resources, None if it is invalid."""
    text = profile.spec.resource_ratio
    if text is None:
        return 1.0
    ratio = float(text) if _NUMBER.fullmatch(text) else 0.0
    return ratio if 0 < ratio <= 1 else None


def _keys(profile: ElasticQuotaProfile) -> tuple[str, ...] | None:
    """Return the resources with a guarantee for the tree, None if they are invalid."""
    text = profile.metadata.annotations.get(RESOURCE_KEYS)
    if not text:
        return (CPU, MEMORY)
    try:
        return tuple(dict.fromkeys(read_json(text, list[str]))) or None
    except ValueError:
        return None


def _read(text: str) -> dict[str, int] | None:
    try:
        return _amounts(read_json(text, dict[str, str | int | float]))
    except ValueError:
        return None


def _amounts(listed: Mapping[str, Any]) -> dict[str, int] | None:
    """Parse amounts: CPU in thousandths, other resources in units. Return None if an amount is invalid."""
    try:
        return {name: millis(parse(each)) if name == CPU else units(parse(each)) for name, each in listed.items()}
    except QuantityError:
        return None


def _written(name: str, amount: int) -> str:
    if name == CPU:
        return format_millis(amount)
    return format_bytes(amount) if name == MEMORY else str(amount)


def _json(value: Mapping[str, str]) -> str:
    return msgspec.json.encode(value).decode()
