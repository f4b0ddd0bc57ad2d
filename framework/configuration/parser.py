"""Parser: turns the text of a configuration into a `Configuration`. Faults are reported together, with path and hint.

The file is Volcano's (`actions`, `tiers`, `configurations`, `metrics`), with `profiles` beside them: a list of the same
keys with `schedulerName`. A profile takes what it leaves out from the top of the file. The top of the file, when it has
actions, schedules the pods that no profile names. A KubeSchedulerConfiguration is translated first.
"""

import hashlib
import json
import reprlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from pyroclast.framework.configuration.known import Known
from pyroclast.framework.configuration.kubescheduler.translation import (
    Translation,
    is_kube_scheduler_configuration,
    translated,
)
from pyroclast.framework.configuration.notes import Notes, below
from pyroclast.framework.configuration.options import check_arguments, read_option
from pyroclast.framework.configuration.suggest import did_you_mean, did_you_mean_inside
from pyroclast.framework.configuration.text import read_yaml
from pyroclast.framework.configuration.types import Configuration, Parsed, PluginOption, Profile
from pyroclast.framework.configuration.usage_source import KEYS, read_source
from pyroclast.model.errors import ConfigError

__all__ = ["TOP_KEYS", "parse"]

PARTS: Final = ("actions", "tiers", "configurations", "metrics")
"""Keys of a profile, at the top of the file and in `profiles`."""
TOP_KEYS: Final = (*PARTS, "profiles")
PROFILE_KEYS: Final = (*PARTS, "schedulerName", "schedulerNames")
NO_TYPES: Final[Mapping[str, type]] = {}


def parse(
    text: str | Mapping[str, Any],
    *,
    known_plugins: Collection[str],
    known_actions: Collection[str],
    argument_types: Mapping[str, type] = NO_TYPES,
    action_argument_types: Mapping[str, type] = NO_TYPES,
    absent_flags: Literal["on", "off"] = "on",
    strict: bool = False,
    generation: int = 1,
) -> Parsed:
    """Parse a configuration.

    Args:
        text: YAML or JSON; or the mapping that stands in it, where `absentFlags` may overrule the parameter.
        known_plugins: Others are skipped with a warning.
        known_actions: Others are faults.
        argument_types: Dataclass of arguments by plugin; values are checked against it.
        action_argument_types: Likewise by action.
        absent_flags: What a flag is that is not written: `on` means its default; `off` means off, as in Volcano when
            tiers are made without its loader, and then combinations of plugins are not checked either.
        strict: Warnings are faults too.
        generation: Number of the configuration, carried by the decisions made under it.

    Raises:
        ConfigError: It cannot be used; `faults` has a sentence for each reason.
    """
    document, source = _read(text)
    if not isinstance(text, str):
        absent_flags = document.pop("absentFlags", absent_flags)
        if absent_flags not in ("on", "off"):
            raise ConfigError(f"absentFlags: got {absent_flags!r}, expected on or off")
    known = Known(
        plugins=known_plugins,
        actions=known_actions,
        argument_types=argument_types,
        action_argument_types=action_argument_types,
        absent_flags_on=absent_flags == "on",
    )
    notes = Notes()
    translation = None
    if is_kube_scheduler_configuration(document):
        translation = translated(document, known_plugins, notes)
        document = translation.document
    profiles = _read_profiles(document, known, notes)
    if translation is not None:
        profiles = _as_in_file(translation, profiles, notes)
    notes.raise_faults(strict=strict)
    configuration = Configuration(generation=generation, profiles=profiles, source=source)
    return Parsed(configuration=configuration, warnings=tuple(notes.warnings), skipped=tuple(notes.skipped))


def _as_in_file(translation: Translation, profiles: tuple[Profile, ...], notes: Notes) -> tuple[Profile, ...]:
    """Return the profiles of a translation, and change the notes, with the paths of the file."""
    for found in (notes.faults, notes.warnings, notes.skipped):
        found[:] = map(translation.named, found)
    return tuple(
        replace(
            profile,
            tiers=tuple(
                tuple(replace(option, path=translation.named(option.path)) for option in tier) for tier in profile.tiers
            ),
        )
        for profile in profiles
    )


def _read(text: str | Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the top of the file and the digest of the text."""
    document = read_yaml(text) if isinstance(text, str) else text
    if document is None:
        raise ConfigError("the configuration: empty; it must name at least its actions")
    if not isinstance(document, Mapping):
        raise ConfigError(f"the configuration: got {reprlib.repr(document)}, expected a mapping")
    return dict(document), _digest(text)


def _digest(text: str | Mapping[str, Any]) -> str:
    try:
        canonical = text if isinstance(text, str) else json.dumps(text)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the configuration: contains a value that no file can contain: {error}") from None
    return hashlib.sha256(canonical.encode(errors="surrogatepass")).hexdigest()


def _read_profiles(document: dict[str, Any], known: Known, notes: Notes) -> tuple[Profile, ...]:
    """Return the profiles of a file, the one for all other scheduler names last."""
    top = notes.mapping("the configuration", document)
    notes.unknown_keys("", top, TOP_KEYS)
    if "profiles" not in top:
        return (_read_profile("", top, known, notes),)
    entries = notes.sequence("profiles", top["profiles"])
    if not entries and top["profiles"] in (None, [], ()):
        notes.fault("profiles", "empty; name at least one profile or remove the key")
    inherited = {key: top[key] for key in PARTS if key in top}
    profiles: dict[str, Profile] = {}
    for index, entry in enumerate(entries):
        path = f"profiles[{index}]"
        own = notes.mapping(path, entry)
        notes.unknown_keys(path, own, PROFILE_KEYS)
        profiles[path] = _read_profile(path, {**inherited, **own}, known, notes, own_keys=own)
    if "actions" in top:
        profiles["actions"] = _read_profile("", inherited, known, notes)
    _check_scheduler_names(profiles, notes)
    return tuple(sorted(profiles.values(), key=lambda profile: not profile.scheduler_names))


def _check_scheduler_names(profiles: Mapping[str, Profile], notes: Notes) -> None:
    """Note pods that two profiles, given by path, would claim."""
    seen: dict[str, str] = {}
    for path, profile in profiles.items():
        for name in profile.scheduler_names or ("",):
            earlier = seen.setdefault(name, path)
            if earlier != path:
                whose = f"pods of scheduler {name!r}" if name else "pods whose scheduler no profile names"
                notes.fault(path, f"{whose} belong to {earlier} already")


def _read_profile(
    path: str, value: Mapping[str, Any], known: Known, notes: Notes, *, own_keys: Collection[str] = PARTS
) -> Profile:
    """Return one profile; parts that it inherits keep the path at which they stand in the file."""
    paths = {key: below(path if key in own_keys else "", key) for key in PARTS}
    actions = _read_actions(paths["actions"], value.get("actions"), known, notes)
    tiers = _read_tiers(paths["tiers"], value.get("tiers"), known, notes)
    profile = Profile(
        scheduler_names=_read_scheduler_names(path, value, notes),
        actions=actions,
        tiers=tuple(tuple(option for option in tier if not option.shadow) for tier in tiers),
        shadows=tuple(option for tier in tiers for option in tier if option.shadow),
        action_arguments=_read_action_arguments(paths["configurations"], value.get("configurations"), known, notes),
        metrics=_read_metrics(paths["metrics"], value.get("metrics"), notes),
    )
    _drop_repeated((*profile.plugins, *profile.shadows), notes)
    if known.absent_flags_on:
        _check_combinations(profile.plugins, notes)
    return profile


def _read_scheduler_names(path: str, value: Mapping[str, Any], notes: Notes) -> tuple[str, ...]:
    names = []
    if "schedulerName" in value:
        names.append(notes.name(below(path, "schedulerName"), value["schedulerName"]))
    if "schedulerNames" in value:
        names_path = below(path, "schedulerNames")
        listed = notes.sequence(names_path, value["schedulerNames"])
        names += [notes.name(f"{names_path}[{index}]", name) for index, name in enumerate(listed)]
    return tuple(dict.fromkeys(names))


def _read_actions(path: str, value: object, known: Known, notes: Notes) -> tuple[str, ...]:
    """Return the actions in order: names with commas between them, or a list."""
    if value is None:
        notes.fault(path, "missing; name the actions of a cycle in order, 'enqueue, allocate, backfill' for example")
        return ()
    if isinstance(value, str):
        names: Sequence[object] = value.split(",")
    elif isinstance(value, (list, tuple)):
        names = value
    else:
        notes.fault(path, f"got {reprlib.repr(value)}, expected names with commas between them")
        return ()
    if not names or names == [""]:
        notes.fault(path, "empty; a scheduler without actions does nothing")
        return ()
    return tuple(name for index, entry in enumerate(names) if (name := _read_action(path, index, entry, known, notes)))


def _read_action(path: str, index: int, value: object, known: Known, notes: Notes) -> str:
    if not isinstance(value, str):
        notes.fault(f"{path}[{index}]", f"got {reprlib.repr(value)}, expected the name of an action")
        return ""
    name = value.strip()
    if not name:
        notes.fault(f"{path}[{index}]", "empty; there is one comma too many")
    elif name not in known.actions:
        notes.fault(f"{path}[{index}]", f"unknown action {name!r}{did_you_mean(name, known.actions)}")
    return name


def _read_tiers(path: str, value: object, known: Known, notes: Notes) -> tuple[tuple[PluginOption, ...], ...]:
    tiers = notes.sequence(path, value)
    if not tiers:
        notes.warn(path, "no plugins: jobs have no order, and neither nodes nor queues are checked")
    return tuple(_read_tier(f"{path}[{index}]", tier, known, notes) for index, tier in enumerate(tiers))


def _read_tier(path: str, value: object, known: Known, notes: Notes) -> tuple[PluginOption, ...]:
    tier = notes.mapping(path, value)
    if not tier:
        notes.warn(path, "empty: a tier without plugins has no effect")
    notes.unknown_keys(path, tier, ("plugins",))
    entries = notes.sequence(below(path, "plugins"), tier.get("plugins"))
    options = (read_option(f"{path}.plugins[{index}]", entry, known, notes) for index, entry in enumerate(entries))
    return tuple(option for option in options if option is not None)


def _read_action_arguments(path: str, value: object, known: Known, notes: Notes) -> dict[str, Mapping[str, Any]]:
    """Return the arguments of actions; of two entries for one action the first holds."""
    arguments: dict[str, Mapping[str, Any]] = {}
    for index, item in enumerate(notes.sequence(path, value)):
        entry_path = f"{path}[{index}]"
        entry = notes.mapping(entry_path, item)
        notes.unknown_keys(entry_path, entry, ("name", "arguments"))
        name = notes.name(below(entry_path, "name"), entry.get("name"))
        raw = notes.mapping(below(entry_path, "arguments"), entry.get("arguments"))
        if not name:
            continue
        if name not in known.actions:
            hint = did_you_mean(name, known.actions)
            notes.warn(below(entry_path, "name"), f"unknown action {name!r}, its arguments have no effect{hint}")
        elif name in arguments:
            notes.warn(entry_path, f"has no effect: the first entry for {name!r} applies")
        else:
            arguments[name] = raw
            if kind := known.action_argument_types.get(name):
                check_arguments(kind, raw, below(entry_path, "arguments"), notes)
    return arguments


def _read_metrics(path: str, value: object, notes: Notes) -> dict[str, str]:
    """Return the source of node usage: texts by key; numbers and booleans are taken as they are written."""
    metrics = {}
    for key, item in notes.mapping(path, value).items():
        if isinstance(item, bool):
            metrics[key] = "true" if item else "false"
        elif isinstance(item, (str, int, float)):
            metrics[key] = str(item)
        else:
            hint = did_you_mean_inside(key, item, KEYS)
            got = "a mapping" if isinstance(item, Mapping) else reprlib.repr(item)  # a password may stand in it
            notes.fault(below(path, key), f"got {got}, expected a text{hint}")
    read_source(metrics, path, notes)
    return metrics


def _drop_repeated(options: Sequence[PluginOption], notes: Notes) -> None:
    """Note each plugin with a name that another plugin already has. Two plugins of one name cannot be distinguished."""
    first: dict[str, PluginOption] = {}
    for option in options:
        earlier = first.setdefault(option.instance, option)
        if earlier is not option:
            path = below(option.path, "name" if option.instance == option.plugin else "instance")
            notes.fault(
                path,
                f"{option.instance!r} is already listed at {earlier.path}; "
                "a plugin may be listed twice only if each entry has its own `instance` name",
            )


def _check_combinations(options: Sequence[PluginOption], notes: Notes) -> None:
    """Note plugins that would decide the same thing twice, or nothing alone, in whichever tiers they stand."""
    by_plugin = {option.plugin: option for option in reversed(options)}
    proportion, capacity = by_plugin.get("proportion"), by_plugin.get("capacity")
    if proportion is not None:
        for option in options:
            if option.plugin == "drf" and option.hierarchy:
                notes.fault(
                    below(option.path, "enableHierarchy"),
                    f"drf with a hierarchy and proportion ({proportion.path}) both divide the cluster among queues; "
                    "leave one out",
                )
    if proportion is not None and capacity is not None:
        notes.warn(
            below(capacity.path, "name"),
            f"capacity beside proportion ({proportion.path}): each queue must satisfy both, which is rarely meant",
        )
    coscheduling = by_plugin.get("coscheduling")
    if coscheduling is not None and "gang" not in by_plugin:
        notes.warn(
            below(coscheduling.path, "name"), "coscheduling without gang: no minimum number of members is enforced"
        )
