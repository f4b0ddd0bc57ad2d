"""Translation of a KubeSchedulerConfiguration into actions and tiers. Everything without a counterpart is a warning.

A profile becomes a profile of ours:

    actions   enqueue, allocate, preempt (DefaultPreemption or ElasticQuota at postFilter), gangpreempt (Coscheduling
              there, with enablePreemption), backfill, shuffle (ElasticQuota with monitorAllQuotas)
    tier 1    priority, gang, coscheduling, elastic-quota
    tier 2    predicates, nodeorder, resource-strategy-fit, the other plugins in the order of the file
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyroclast.framework.configuration.kubescheduler.counterparts import (
    ALWAYS_FILTERED,
    ARGUMENTS_WITHOUT_EFFECT,
    BUILT_IN,
    COUNTERPARTS,
    FILTER_FLAGS,
    LEADER_ELECTION,
    PROFILE_KEYS_WITHOUT_EFFECT,
    SCORE_WEIGHTS,
    TOP_KEYS_WITHOUT_EFFECT,
    WITHOUT_COUNTERPART,
)
from pyroclast.framework.configuration.kubescheduler.plugin_sets import (
    FILTERS,
    KOORDINATOR,
    PluginSets,
    read_plugin_sets,
)
from pyroclast.framework.configuration.notes import Notes, below
from pyroclast.framework.configuration.suggest import did_you_mean

__all__ = ["GROUP", "Translation", "is_kube_scheduler_configuration", "translated"]

GROUP: Final = "kubescheduler.config.k8s.io"
KIND: Final = "KubeSchedulerConfiguration"
VERSION: Final = f"{GROUP}/v1"
DEFAULT_SCHEDULER: Final = "default-scheduler"
"""Kubernetes' name of a profile without a name."""
_TYPE_KEYS: Final = ("apiVersion", "kind")
_SWITCHES: Final = frozenset({"queueSort", "postFilter", "score"})
"""Points at which a plugin can be left out."""
_LEAST, _MOST = "LeastAllocated", "MostAllocated"
_SIMPLE: Final[Mapping[str, int]] = {"cpu": 1, "memory": 1}
_NAMES: Final = (*KOORDINATOR, *BUILT_IN, *FILTERS, *SCORE_WEIGHTS)
_PLACE: Final = re.compile(r"profiles\[\d+\]\.tiers\[\d+\]\.plugins\[\d+\](?:\.arguments)?")


@dataclass(slots=True, kw_only=True)
class Translation:
    """A configuration of ours, and where its parts stood."""

    document: dict[str, Any]
    places: dict[str, str] = field(default_factory=dict)
    """Paths in the file by paths in the document."""

    def named(self, sentence: str) -> str:
        """Return a sentence with the paths of the file instead of those of the document."""
        return _PLACE.sub(lambda found: self._place(found.group()), sentence)

    def _place(self, path: str) -> str:
        plugin = path.removesuffix(".arguments")
        return self.places.get(path) or (f"{self.places[plugin]}" if plugin in self.places else path)


def is_kube_scheduler_configuration(document: object) -> bool:
    """Return whether a document is a KubeSchedulerConfiguration, of any version."""
    if not isinstance(document, Mapping):
        return False
    return str(document.get("apiVersion", "")).partition("/")[0] == GROUP or document.get("kind") == KIND


def translated(document: Mapping[str, Any], known_plugins: Collection[str], notes: Notes) -> Translation:
    """Translate a file.

    Args:
        document: Its content.
        known_plugins: Names of the plugins of this process. One of these names is used as it is.
        notes: Receives faults, and a warning for each part that is not translated.
    """
    top = notes.mapping(KIND, document)
    if (top.get("kind"), top.get("apiVersion")) != (KIND, VERSION):
        got = f"{top.get('kind')!r} of {top.get('apiVersion')!r}"
        notes.fault("kind", f"got {got}, expected {KIND!r} of {VERSION!r}")
    _note_unused("", top, TOP_KEYS_WITHOUT_EFFECT, (*_TYPE_KEYS, "leaderElection", "profiles"), notes)
    for key, value in notes.mapping("leaderElection", top.get("leaderElection")).items():
        flag = LEADER_ELECTION.get(key)
        text = str(value).lower() if isinstance(value, bool) else value
        about = f"no effect in this file: set {flag}={text}" if flag else "unknown key, it has no effect"
        notes.warn(f"leaderElection.{key}", about + ("" if flag else did_you_mean(key, LEADER_ELECTION)))
    translation = Translation(document={"profiles": []})
    entries = notes.sequence("profiles", top.get("profiles")) or [{}]
    for index, entry in enumerate(entries):
        profile = _Profile(f"profiles[{index}]", notes.mapping(f"profiles[{index}]", entry), known_plugins, notes)
        translation.document["profiles"].append(profile.document())
        translation.places |= profile.places
    return translation


def _note_unused(
    path: str, given: Mapping[str, Any], reasons: Mapping[str, str], known: Collection[str], notes: Notes
) -> None:
    """Warn of each key that is not used, with the reason."""
    for key in given:
        if key in reasons:
            notes.warn(below(path, key), f"no effect: {reasons[key]}")
        elif key not in known:
            notes.warn(below(path, key), f"unknown key, it has no effect{did_you_mean(key, (*known, *reasons))}")


@dataclass(slots=True, kw_only=True)
class _Entry:
    """A plugin of ours in a tier."""

    plugin: str
    arguments: dict[str, Any] = field(default_factory=dict)
    flags: dict[str, bool] = field(default_factory=dict)
    instance: str = ""
    place: str = ""
    """Where the plugin is enabled."""
    arguments_place: str = ""
    """Where its arguments stand."""

    def document(self) -> dict[str, Any]:
        """Return it as it stands in a tier."""
        instance = {"instance": self.instance} if self.instance else {}
        arguments = {"arguments": self.arguments} if self.arguments else {}
        return {"name": self.plugin, **instance, **self.flags, **arguments}


class _Profile:
    """The translation of one profile."""

    def __init__(self, path: str, value: Mapping[str, Any], known_plugins: Collection[str], notes: Notes) -> None:
        self._path, self._value, self._known, self._notes = path, value, known_plugins, notes
        self.places: dict[str, str] = {}
        _note_unused(path, value, PROFILE_KEYS_WITHOUT_EFFECT, ("schedulerName", "plugins", "pluginConfig"), notes)
        self._sets: PluginSets = read_plugin_sets(below(path, "plugins"), value.get("plugins"), notes)
        self._config_paths: dict[str, str] = {}
        self._config = self._read_config()
        self._translated: set[str] = set()
        """Plugins whose arguments were looked at."""

    def document(self) -> dict[str, Any]:
        """Return the profile of ours."""
        tiers = [list(self._first_tier()), list(self._second_tier())]
        for number, tier in enumerate(tiers):
            for position, entry in enumerate(tier):
                path = f"{self._path}.tiers[{number}].plugins[{position}]"
                self.places[path] = entry.place or below(self._path, "plugins")
                self.places[f"{path}.arguments"] = entry.arguments_place or self.places[path]
        self._note_unknown()
        self._note_other_arguments()
        return {
            "schedulerName": self._value.get("schedulerName", DEFAULT_SCHEDULER),
            "actions": ", ".join(self._actions()),
            "tiers": [{"plugins": [entry.document() for entry in tier]} for tier in tiers],
        }

    def _read_config(self) -> dict[str, Mapping[str, Any]]:
        """Return the arguments by plugin."""
        path = below(self._path, "pluginConfig")
        found: dict[str, Mapping[str, Any]] = {}
        for index, item in enumerate(self._notes.sequence(path, self._value.get("pluginConfig"))):
            where = f"{path}[{index}]"
            entry = self._notes.mapping(where, item)
            self._notes.unknown_keys(where, entry, ("name", "args"))
            name = self._notes.name(below(where, "name"), entry.get("name"))
            args = self._notes.mapping(below(where, "args"), entry.get("args"))
            if name in found:
                self._notes.fault(where, f"{name!r} is already configured at {self._config_paths[name]}")
            elif name:
                found[name] = {key: each for key, each in args.items() if key not in _TYPE_KEYS}
                self._config_paths[name] = below(where, "args")
        for name in found:
            if not self._sets.has(name):
                self._notes.warn(self._config_paths[name], f"no effect: plugin {name!r} is not enabled")
        return found

    def _arguments(self, plugin: str, used: Collection[str] | None = None) -> dict[str, Any]:
        """Return the arguments of a plugin that have an effect: those in `used`, or all without a known reason."""
        self._translated.add(plugin)
        reasons = ARGUMENTS_WITHOUT_EFFECT.get(plugin, {})
        given = self._config.get(plugin, {})
        known = [key for key in given if key not in reasons] if used is None else used
        if self._sets.has(plugin):
            _note_unused(self._config_paths.get(plugin, ""), given, reasons, known, self._notes)
        return {key: value for key, value in given.items() if key in known}

    def _actions(self) -> Iterator[str]:
        yield from ("enqueue", "allocate")
        after = self._sets.at("postFilter")
        if "DefaultPreemption" in after or "ElasticQuota" in after:
            yield "preempt"
        if self._preempts_for_gangs:
            yield "gangpreempt"
        yield "backfill"
        if self._sets.has("ElasticQuota") and _is_on(self._config.get("ElasticQuota", {}).get("monitorAllQuotas")):
            yield "shuffle"

    @property
    def _preempts_for_gangs(self) -> bool:
        enabled = "Coscheduling" in self._sets.at("postFilter")
        return enabled and _is_on(self._config.get("Coscheduling", {}).get("enablePreemption"))

    def _first_tier(self) -> Iterator[_Entry]:
        sort = self._sets.at("queueSort")
        own = [self._counterpart("Coscheduling")] if self._sets.has("Coscheduling") else []
        priority = _Entry(plugin="priority", place=self._sets.paths.get("PrioritySort", ""))
        # Koordinator's Coscheduling as the queue sort keeps the members of a gang together.
        yield from [*own, priority] if "Coscheduling" in sort else [priority, *own]
        # kube-scheduler's preemption does not spare the minimum of a gang.
        yield _Entry(plugin="gang", flags={"enablePreemptable": False})
        if self._sets.has("ElasticQuota"):
            yield self._counterpart("ElasticQuota")

    def _second_tier(self) -> Iterator[_Entry]:
        yield self._predicates()
        yield from self._node_order()
        yield from self._fit_plus()
        for name in ("LoadAwareScheduling", "NodeNUMAResource", "DeviceShare", "Reservation"):
            if self._sets.has(name):
                yield self._counterpart(name)
        for name, place in self._sets.paths.items():
            if self._is_own(name) and self._sets.has(name):
                arguments = dict(self._config.get(name, {}))
                yield _Entry(
                    plugin=name, arguments=arguments, place=place, arguments_place=self._config_paths.get(name, "")
                )

    def _is_own(self, name: str) -> bool:
        """Return whether a name is that of a plugin of this process which no plugin of the file stands for."""
        return name in self._known and not self._is_translated(name)

    def _is_translated(self, name: str) -> bool:
        return (
            name in BUILT_IN
            or name in FILTERS
            or name in SCORE_WEIGHTS
            or name in WITHOUT_COUNTERPART
            or name in KOORDINATOR
        )

    def _counterpart(self, name: str) -> _Entry:
        """Return the plugin of ours for one of Koordinator's."""
        counterpart, given = COUNTERPARTS[name], self._arguments(name)
        if _is_on(given.get("enablePreemption")) and name not in self._sets.at("postFilter"):
            path = below(self._config_paths[name], "enablePreemption")
            self._notes.warn(path, f"no effect: plugin {name!r} is not enabled at postFilter")
            given["enablePreemption"] = False
        if name == "Coscheduling":
            given.pop("enablePreemption", None)  # it is the action gangpreempt
        weight = {counterpart.weight: self._sets.weight(name)} if counterpart.weight else {}
        entry = _Entry(
            plugin=counterpart.plugin,
            arguments={**counterpart.arguments, **weight, **given},
            place=self._sets.paths.get(name, ""),
            arguments_place=self._config_paths.get(name, ""),
        )
        if name not in self._sets.at("filter") and name == "LoadAwareScheduling":
            entry.flags["enablePredicate"] = False
        absent = [point for point in KOORDINATOR[name] if point not in _SWITCHES and name not in self._sets.at(point)]
        if absent:
            about = f"plugin {name!r} also serves {', '.join(absent)} here, where this file does not enable it"
            self._notes.warn(entry.place, about)
        return entry

    def _predicates(self) -> _Entry:
        filters = self._sets.at("filter")
        for name in ALWAYS_FILTERED:
            if name not in filters:
                self._notes.warn(f"{self._path}.plugins.filter", f"{name} cannot be disabled, it filters nodes")
        arguments: dict[str, Any] = {flag: False for name, flag in FILTER_FLAGS.items() if name not in filters}
        volumes = self._arguments("VolumeBinding", used=("bindTimeoutSeconds", "shape"))
        arguments |= {f"volumebinding.{key}": value for key, value in volumes.items()}
        for name in ("NodeAffinity", "PodTopologySpread", "InterPodAffinity", "DynamicResources", "DefaultPreemption"):
            self._arguments(name, used=())
        return _Entry(
            plugin="predicates", arguments=arguments, arguments_place=self._config_paths.get("VolumeBinding", "")
        )

    def _node_order(self) -> Iterator[_Entry]:
        """Yield nodeorder, and another plugin where the fit has a strategy of other resources."""
        self._arguments("NodeResourcesBalancedAllocation", used=())
        weights = {argument: self._sets.weight(name) for name, argument in SCORE_WEIGHTS.items()}
        place = self._config_paths.get("NodeResourcesFit", "")
        given = self._arguments("NodeResourcesFit", used=("scoringStrategy",)).get("scoringStrategy")
        strategy = self._notes.mapping(below(place, "scoringStrategy"), given)
        kind, weight = strategy.get("type", _LEAST), self._sets.weight("NodeResourcesFit")
        resources = self._resources(below(place, "scoringStrategy.resources"), strategy.get("resources"))
        if kind not in (_LEAST, _MOST):
            about = f"no effect: got {kind!r}, expected {_LEAST} or {_MOST}; {_LEAST} is used"
            self._notes.warn(below(place, "scoringStrategy.type"), about)
            kind = _LEAST
        is_simple = resources == _SIMPLE
        weights["leastrequested.weight"] = weight if is_simple and kind == _LEAST else 0
        weights["mostrequested.weight"] = weight if is_simple and kind == _MOST else 0
        yield _Entry(plugin="nodeorder", arguments=weights)
        if not is_simple and weight:
            fit = {name: {"type": kind, "weight": each} for name, each in resources.items()}
            arguments = {"resourceStrategyFitWeight": weight, "resources": fit}
            yield _Entry(
                plugin="resource-strategy-fit", instance="NodeResourcesFit", arguments=arguments, arguments_place=place
            )

    def _resources(self, path: str, value: object) -> dict[str, int]:
        found: dict[str, int] = {}
        for index, item in enumerate(self._notes.sequence(path, value)):
            entry = self._notes.mapping(f"{path}[{index}]", item)
            name, weight = self._notes.name(f"{path}[{index}].name", entry.get("name")), entry.get("weight") or 1
            if isinstance(weight, bool) or not isinstance(weight, int) or weight < 1:
                self._notes.fault(f"{path}[{index}].weight", f"got {weight!r}, expected a whole number of at least 1")
            elif name:
                found[name] = weight
        return found or dict(_SIMPLE)

    def _fit_plus(self) -> Iterator[_Entry]:
        """Yield resource-strategy-fit for two plugins of Koordinator."""
        plus, scarce = (self._sets.weight(name) for name in ("NodeResourcesFitPlus", "ScarceResourceAvoidance"))
        if not plus and not scarce:
            return
        arguments: dict[str, Any] = {"resourceStrategyFitWeight": plus}
        if plus:
            arguments |= self._arguments("NodeResourcesFitPlus", used=("resources",))
        if scarce:
            path = below(self._config_paths.get("ScarceResourceAvoidance", ""), "resources")
            named = self._arguments("ScarceResourceAvoidance", used=("resources",)).get("resources")
            names = [self._notes.name(path, each) for each in self._notes.sequence(path, named)]
            arguments["sra"] = {"enable": True, "resources": ",".join(names), "weight": scarce}
        name = "NodeResourcesFitPlus" if plus else "ScarceResourceAvoidance"
        yield _Entry(
            plugin="resource-strategy-fit",
            arguments=arguments,
            place=self._sets.paths.get(name, ""),
            arguments_place=self._config_paths.get(name, ""),
        )

    def _note_other_arguments(self) -> None:
        """Warn of arguments of plugins that have none here, and of a binder that is left out."""
        for name, given in self._config.items():
            if given and self._sets.has(name) and name not in self._translated and not self._is_own(name):
                self._notes.warn(self._config_paths[name], f"no effect: plugin {name!r} has no arguments here")
        if "DefaultBinder" not in self._sets.at("bind"):
            self._notes.warn(below(self._path, "plugins.bind"), "DefaultBinder cannot be disabled, it binds pods")

    def _note_unknown(self) -> None:
        """Warn of each plugin of the file that has no counterpart."""
        for name, place in self._sets.paths.items():
            if name in WITHOUT_COUNTERPART:
                self._notes.warn(place, f"no effect: plugin {name!r} is not here: {WITHOUT_COUNTERPART[name]}")
            elif not self._is_translated(name) and name not in self._known:
                self._notes.skip(place, f"unknown plugin {name!r}, it is skipped{did_you_mean(name, _NAMES)}")
            elif self._is_own(name) and self._sets.weight(name) > 1:
                self._notes.warn(place, f"no effect: the weight of plugin {name!r} is one of its arguments, if any")


def _is_on(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")
