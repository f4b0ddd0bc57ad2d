"""Plugin sets: which plugins a profile of a KubeSchedulerConfiguration enables at each extension point.

`enabled` and `disabled` change the default plugins of kube-scheduler. `multiPoint` stands for all points of a plugin.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyroclast.framework.configuration.notes import Notes, below
from pyroclast.framework.configuration.suggest import did_you_mean

__all__ = ["DEFAULTS", "FILTERS", "KOORDINATOR", "POINTS", "PluginSets", "read_plugin_sets"]

POINTS: Final = (
    "multiPoint",
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)
"""Keys of `plugins`."""
ALL: Final = "*"
FILTERS: Final = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
)
DEFAULTS: Final[Mapping[str, Mapping[str, int]]] = {
    "queueSort": {"PrioritySort": 0},
    "filter": dict.fromkeys(FILTERS, 0),
    "postFilter": {"DynamicResources": 0, "DefaultPreemption": 0},
    "score": {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    },
    "bind": {"DefaultBinder": 0},
}
"""Default plugins of Kubernetes 1.36 at the points where they make a difference here, with the weights of scores."""
KOORDINATOR: Final[Mapping[str, tuple[str, ...]]] = {
    "Coscheduling": ("queueSort", "preFilter", "postFilter", "score", "permit"),
    "ElasticQuota": ("preFilter", "postFilter", "reserve"),
    "Reservation": ("preFilter", "filter", "postFilter", "score", "reserve", "bind"),
    "NodeNUMAResource": ("preFilter", "filter", "score", "reserve"),
    "DeviceShare": ("preFilter", "filter", "score", "reserve"),
    "LoadAwareScheduling": ("filter", "score", "reserve"),
    "NodeResourcesFitPlus": ("score",),
    "ScarceResourceAvoidance": ("score",),
}
"""Points that `multiPoint` stands for, by plugin of Koordinator. Its queueSort is used only where it is named."""


@dataclass(slots=True, kw_only=True)
class PluginSets:
    """The plugins of one profile."""

    by_point: dict[str, dict[str, int]] = field(default_factory=dict)
    """Enabled plugins with their weights, by point."""
    paths: dict[str, str] = field(default_factory=dict)
    """Where a plugin is first enabled, by its name; absent for defaults."""

    def at(self, point: str) -> Mapping[str, int]:
        """Return the plugins of a point, with their weights."""
        return self.by_point.get(point, {})

    def has(self, plugin: str) -> bool:
        """Return whether a plugin is enabled at any point."""
        return any(plugin in plugins for plugins in self.by_point.values())

    def weight(self, plugin: str) -> int:
        """Return the weight of a plugin's score; 0 without a score."""
        return self.at("score").get(plugin, 0)


def read_plugin_sets(path: str, value: object, notes: Notes) -> PluginSets:
    """Return the plugins of a profile; `path` is that of its `plugins`."""
    given = notes.mapping(path, value)
    notes.unknown_keys(path, given, POINTS)
    sets = PluginSets()
    changes = {point: _read_change(below(path, point), given.get(point), sets, notes) for point in POINTS}
    everywhere = changes.pop("multiPoint")
    defaults = {name for plugins in DEFAULTS.values() for name in plugins}
    _note_absent(below(path, "multiPoint"), everywhere, defaults, notes)
    for point, change in changes.items():
        found = dict(DEFAULTS.get(point, {}))
        _remove(found, everywhere.disabled)
        found |= {plugin: weight for plugin, weight in everywhere.enabled.items() if point in _points_of(plugin)}
        if point in DEFAULTS:
            _note_absent(below(path, point), change, found, notes)
        elif change.disabled:
            notes.warn(
                f"{below(path, point)}.disabled", "no effect: a plugin serves this point with its filters and scores"
            )
        _remove(found, change.disabled)
        sets.by_point[point] = {**found, **change.enabled}
    return sets


@dataclass(slots=True, kw_only=True)
class _Change:
    """What one point of a profile changes."""

    enabled: dict[str, int] = field(default_factory=dict)
    disabled: tuple[str, ...] = ()


def _read_change(path: str, value: object, sets: PluginSets, notes: Notes) -> _Change:
    entry = notes.mapping(path, value)
    notes.unknown_keys(path, entry, ("enabled", "disabled"))
    disabled = [name for name, _, _ in _listed(below(path, "disabled"), entry.get("disabled"), notes)]
    change = _Change(disabled=tuple(disabled))
    for name, weight, where in _listed(below(path, "enabled"), entry.get("enabled"), notes):
        if name in change.enabled:
            notes.fault(where, f"{name!r} is enabled twice")
        change.enabled[name] = weight
        sets.paths.setdefault(name, where)
    return change


def _listed(path: str, value: object, notes: Notes) -> list[tuple[str, int, str]]:
    """Return names, weights and paths of a list of plugins. A weight of 0 counts as 1, as in kube-scheduler."""
    found = []
    for index, item in enumerate(notes.sequence(path, value)):
        where = f"{path}[{index}]"
        entry = notes.mapping(where, item)
        notes.unknown_keys(where, entry, ("name", "weight"))
        name, weight = notes.name(below(where, "name"), entry.get("name")), entry.get("weight", 0)
        if isinstance(weight, bool) or not isinstance(weight, int) or weight < 0:
            notes.fault(below(where, "weight"), f"got {weight!r}, expected a whole number of at least 0")
            weight = 0
        if name:
            found.append((name, weight or 1, where))
    return found


def _note_absent(path: str, change: _Change, found: Collection[str], notes: Notes) -> None:
    """Warn of disabled plugins that are not enabled."""
    for name in change.disabled:
        if name != ALL and name not in found:
            notes.warn(f"{path}.disabled", f"no effect: {name!r} is not enabled{did_you_mean(name, found)}")


def _remove(found: dict[str, int], disabled: tuple[str, ...]) -> None:
    if ALL in disabled:
        found.clear()
    for name in disabled:
        found.pop(name, None)


def _points_of(plugin: str) -> tuple[str, ...]:
    """Return the points that `multiPoint` stands for. A plugin that is not known here has a score, if anything."""
    own = tuple(point for point, plugins in DEFAULTS.items() if plugin in plugins)
    koordinators = tuple(point for point in KOORDINATOR.get(plugin, ()) if point != "queueSort")
    return koordinators or own or ("score",)
