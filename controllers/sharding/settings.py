"""Settings of sharding: the text of Volcano's ConfigMap, or its deprecated flags, with all faults.

schedulerConfigs:
- name: volcano
policies:
- {name: allocation-rate, weight: 1, arguments: {minCPUUtil: 0.0, maxCPUUtil: 0.6}}
- {name: warmup, weight: 2}
- {name: node-limit, arguments: {maxNodes: 100}}
shardSyncPeriod: 60s
enableNodeEventTrigger: true
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from pyroclast.controllers.admission.rules.names import DNS_SUBDOMAIN, is_dns_subdomain
from pyroclast.controllers.sharding.assignment import CpuRange, NodeLimit, Shard, Warmup
from pyroclast.model.booleans import GO_BOOLEANS
from pyroclast.model.durations import parse_duration
from pyroclast.model.yaml_faults import YAML_FAULTS, yaml_fault

__all__ = ["ShardingSettings", "read_flags", "read_settings"]

_LARGEST_TEXT: Final = 2**20
"""Bytes; no ConfigMap is larger."""
_MOST_SHARDS: Final = 64
_MOST_POLICIES: Final = 16
_MOST_WEIGHT: Final = 1_000_000
_MOST_NODES: Final = 1_000_000
_LONGEST_PERIOD: Final = 86400.0
_RANGE, _WARMUP, _LIMIT = "allocation-rate", "warmup", "node-limit"
_ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    _RANGE: ("minCPUUtil", "maxCPUUtil"),
    _WARMUP: ("warmupLabel", "warmupLabelValue"),
    _LIMIT: ("minNodes", "maxNodes"),
}
_SHARD_KEYS: Final = (
    *("name", "type", "policies", "arguments", "cpuUtilizationMin", "cpuUtilizationMax"),
    *("preferWarmupNodes", "minNodes", "maxNodes"),
)
_PARTS_OF_FLAG: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardingSettings:
    """Settings of the controller."""

    shards: tuple[Shard, ...]
    period_seconds: float | None = None
    """Time between two assignments; None for that of the flag."""
    follows_nodes: bool | None = None
    """Whether changes of nodes are followed at once; None for the value of the flag."""
    faults: tuple[str, ...] = ()
    """With a fault the settings are not used."""


@dataclass(slots=True)
class _Reading:
    faults: list[str] = field(default_factory=list)

    def fault(self, path: str, message: str) -> None:
        self.faults.append(f"{path}: {message}")

    def mapping(self, path: str, value: object, known: Iterable[str]) -> Mapping[str, Any]:
        """Return a mapping; a null is an empty one."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.fault(path, f"got {_shown(value)}, expected a mapping")
            return {}
        names = tuple(known)
        for key in value:
            if key not in names:
                self.fault(path, f"unknown key {_shown(key)}, expected one of {', '.join(names)}")
        return value

    def number(self, path: str, value: object, low: int, high: int) -> int:
        """Return a whole number."""
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fault(path, f"got {_shown(value)}, expected a whole number from {low} to {high}")
            return low
        return value

    def percent(self, path: str, value: object) -> int:
        """Return a fraction from 0 to 1 in hundredths, rounded half up."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self.fault(path, f"got {_shown(value)}, expected a number from 0 to 1")
            return 0
        return int(value * 100 + 0.5)

    def listed(self, path: str, value: object, most: int) -> list[Any]:
        """Return a list of limited length."""
        if value is None:
            return []
        if not isinstance(value, list) or len(value) > most:
            self.fault(path, f"expected a list of at most {most} entries")
            return []
        return value


def read_settings(text: str) -> ShardingSettings:
    """Parse the text of a ConfigMap. Any text is accepted without an exception."""
    reading = _Reading()
    try:
        content = yaml.safe_load(text[:_LARGEST_TEXT])
    except YAML_FAULTS as error:
        return ShardingSettings(shards=(), faults=(f"the text is not YAML: {yaml_fault(error)}",))
    top = reading.mapping("the text", content, ("schedulerConfigs", "shardSyncPeriod", "enableNodeEventTrigger"))
    entries = reading.listed("schedulerConfigs", top.get("schedulerConfigs"), _MOST_SHARDS)
    if not entries:
        reading.fault("schedulerConfigs", "expected at least one entry")
    shards = [_shard(f"schedulerConfigs[{number}]", entry, reading) for number, entry in enumerate(entries)]
    _check_names(shards, reading)
    follows = top.get("enableNodeEventTrigger")
    if follows is not None and not isinstance(follows, bool):
        reading.fault("enableNodeEventTrigger", f"got {_shown(follows)}, expected true or false")
    return ShardingSettings(
        shards=tuple(shards),
        period_seconds=_period(top.get("shardSyncPeriod"), reading),
        follows_nodes=follows if isinstance(follows, bool) else None,
        faults=tuple(reading.faults),
    )


def read_flags(entries: Iterable[str]) -> ShardingSettings:
    """Parse `--scheduler-configs`: `name:type:minimum:maximum:prefer-warmup:min-nodes:max-nodes` each."""
    reading = _Reading()
    shards = []
    for entry in entries:
        parts = entry.split(":")
        if len(parts) != _PARTS_OF_FLAG:
            reading.fault(entry, f"expected {_PARTS_OF_FLAG} parts with colons between them")
            continue
        try:
            content = {
                "name": parts[0],
                "cpuUtilizationMin": float(parts[2]),
                "cpuUtilizationMax": float(parts[3]),
                "preferWarmupNodes": GO_BOOLEANS[parts[4]],
                "minNodes": int(parts[5]),
                "maxNodes": int(parts[6]),
            }
        except (ValueError, KeyError) as error:
            reading.fault(entry, f"expected numbers and true or false: {error}")
            continue
        shards.append(_shard(entry, content, reading))
    _check_names(shards, reading)
    return ShardingSettings(shards=tuple(shards), faults=tuple(reading.faults))


def _shard(path: str, value: object, reading: _Reading) -> Shard:
    entry = reading.mapping(path, value, _SHARD_KEYS)
    name = entry.get("name")
    if not isinstance(name, str) or not is_dns_subdomain(name):
        reading.fault(f"{path}.name", f"got {_shown(name)}, expected {DNS_SUBDOMAIN}")
        name = ""
    ranges: list[CpuRange] = []
    warmups: list[Warmup] = []
    limits: list[NodeLimit] = []
    policies = reading.listed(f"{path}.policies", entry.get("policies"), _MOST_POLICIES)
    for number, item in enumerate(policies or _deprecated(entry)):
        where = f"{path}.policies[{number}]" if policies else path
        policy = reading.mapping(where, item, ("name", "weight", "arguments"))
        kind = policy.get("name")
        if not isinstance(kind, str) or kind not in _ARGUMENTS:
            reading.fault(f"{where}.name", f"got {_shown(kind)}, expected one of {', '.join(_ARGUMENTS)}")
            continue
        weight = reading.number(f"{where}.weight", policy.get("weight", 1), 0, _MOST_WEIGHT) or 1
        arguments = reading.mapping(f"{where}.arguments", policy.get("arguments"), _ARGUMENTS[kind])
        if kind == _RANGE:
            ranges.append(_range(f"{where}.arguments", arguments, weight, reading))
        elif kind == _WARMUP:
            warmups.append(_warmup(f"{where}.arguments", arguments, weight, reading))
        else:
            limits.append(_limit(f"{where}.arguments", arguments, reading))
    old = {key: entry[key] for key in ("minNodes", "maxNodes") if entry.get(key)}
    if old and not limits:
        limits.append(_limit(path, old, reading))
    return Shard(name=name, ranges=tuple(ranges), warmups=tuple(warmups), limits=tuple(limits))


def _deprecated(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the policies of an entry without any, from its older keys."""
    keys = {"cpuUtilizationMin": "minCPUUtil", "cpuUtilizationMax": "maxCPUUtil"}
    arguments = entry.get("arguments") or {new: entry[old] for old, new in keys.items() if old in entry}
    warmup = [{"name": _WARMUP}] if entry.get("preferWarmupNodes") is True else []
    return [{"name": _RANGE, "arguments": arguments}, *warmup]


def _range(path: str, arguments: Mapping[str, Any], weight: int, reading: _Reading) -> CpuRange:
    low = reading.percent(f"{path}.minCPUUtil", arguments.get("minCPUUtil", 0))
    high = reading.percent(f"{path}.maxCPUUtil", arguments.get("maxCPUUtil", 1))
    if low > high:
        reading.fault(path, "minCPUUtil is greater than maxCPUUtil")
    return CpuRange(minimum=low, maximum=max(low, high), weight=weight)


def _warmup(path: str, arguments: Mapping[str, Any], weight: int, reading: _Reading) -> Warmup:
    default = Warmup()
    label, value = arguments.get("warmupLabel", default.label), arguments.get("warmupLabelValue", default.value)
    for key, text in (("warmupLabel", label), ("warmupLabelValue", value)):
        if not isinstance(text, str) or (key == "warmupLabel" and not text):
            reading.fault(f"{path}.{key}", f"got {_shown(text)}, expected a text")
    return Warmup(label=str(label), value=str(value), weight=weight)


def _limit(path: str, arguments: Mapping[str, Any], reading: _Reading) -> NodeLimit:
    low = reading.number(f"{path}.minNodes", arguments.get("minNodes", 0), 0, _MOST_NODES)
    high = reading.number(f"{path}.maxNodes", arguments.get("maxNodes", 0), 0, _MOST_NODES)
    if 0 < high < low:
        reading.fault(path, f"maxNodes {high} is less than minNodes {low}")
    return NodeLimit(minimum=low, maximum=high)


def _period(value: object, reading: _Reading) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(parse_duration(value))
    except ValueError as fault:
        reading.fault("shardSyncPeriod", f"got {_shown(value)}, expected {fault}")
        return None
    if not 1 <= seconds <= _LONGEST_PERIOD:
        reading.fault("shardSyncPeriod", f"got {_shown(value)}, expected 1s to 24h")
        return None
    return seconds


def _check_names(shards: Iterable[Shard], reading: _Reading) -> None:
    seen: set[str] = set()
    for shard in shards:
        if shard.name and shard.name in seen:
            reading.fault("schedulerConfigs", f"{shard.name!r} is there twice")
        seen.add(shard.name)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 64 else f"{text[:63]}…"
