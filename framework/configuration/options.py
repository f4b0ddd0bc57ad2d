"""One plugin of a tier: its name, its flags, its arguments."""

import reprlib
from collections.abc import Mapping
from typing import Any

from pyroclast.framework.configuration import flags
from pyroclast.framework.configuration.arguments import decode
from pyroclast.framework.configuration.conversions import Mismatch, convert
from pyroclast.framework.configuration.known import Known
from pyroclast.framework.configuration.notes import Notes, below
from pyroclast.framework.configuration.suggest import did_you_mean
from pyroclast.framework.configuration.types import PluginOption
from pyroclast.model.durations import parse_duration
from pyroclast.model.errors import ConfigError

__all__ = ["check_arguments", "read_option"]

OWN_KEYS = ("name", "instance", "arguments", "failurePolicy", "timeBudget", "shadow")
_FAIL, _IGNORE = "Fail", "Ignore"


def read_option(path: str, value: object, known: Known, notes: Notes) -> PluginOption | None:
    """Return one plugin of a tier; None when it cannot be used or is unknown, which has been noted then."""
    if not isinstance(value, Mapping):
        notes.fault(path, f"got {reprlib.repr(value)}, expected a mapping with a name")
        return None
    entry = notes.mapping(path, value)
    plugin = notes.name(below(path, "name"), entry.get("name"))
    instance = notes.name(below(path, "instance"), entry["instance"]) if "instance" in entry else plugin
    option = PluginOption(
        plugin=plugin,
        instance=instance,
        flags=_read_flags(path, entry, known, notes),
        arguments=notes.mapping(below(path, "arguments"), entry.get("arguments")),
        ignores_failure=_ignores_failure(path, entry.get("failurePolicy", _FAIL), notes),
        time_budget=_time_budget(path, entry.get("timeBudget"), notes),
        shadow=_is_shadow(path, entry.get("shadow", False), notes),
        path=path,
    )
    if not plugin or not instance:
        return None
    if plugin not in known.plugins:
        nearest = did_you_mean(plugin, known.plugins)
        notes.skip(below(path, "name"), f"unknown plugin {plugin!r}, it is skipped{nearest}")
        return None
    if kind := known.argument_types.get(plugin):
        check_arguments(kind, option.arguments, below(path, "arguments"), notes)
    return option


def _ignores_failure(path: str, policy: object, notes: Notes) -> bool:
    if policy not in (_FAIL, _IGNORE):
        notes.fault(below(path, "failurePolicy"), f"got {reprlib.repr(policy)}, expected {_FAIL} or {_IGNORE}")
    return policy == _IGNORE


def _is_shadow(path: str, value: object, notes: Notes) -> bool:
    try:
        return convert(bool, value) is True
    except Mismatch as mismatch:
        notes.fault(below(path, "shadow"), f"got {reprlib.repr(value)}, expected {mismatch.expected}")
        return False


def _time_budget(path: str, value: object, notes: Notes) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(parse_duration(value))
    except ValueError as fault:
        notes.fault(below(path, "timeBudget"), f"got {reprlib.repr(value)}, expected {fault}")
        return None
    if seconds < 0:
        notes.fault(below(path, "timeBudget"), f"got {reprlib.repr(value)}, expected 0 or more")
    return max(seconds, 0.0)


def check_arguments(kind: type, raw: Mapping[str, Any], path: str, notes: Notes) -> None:
    """Note what is wrong with the arguments of a plugin or an action."""
    try:
        _, warnings = decode(kind, raw, path)
    except ConfigError as error:
        notes.faults += error.faults
    else:
        notes.warnings += warnings


def _read_flags(path: str, entry: Mapping[str, Any], known: Known, notes: Notes) -> dict[str, bool]:
    """Return every flag: as written, else its default."""
    values = flags.defaults(absent=known.absent_flags_on)
    for key, value in entry.items():
        flag = flags.canonical_flag(key)
        if flag is None:
            if key not in OWN_KEYS:
                hint = did_you_mean(key, (*OWN_KEYS, *flags.FLAGS))
                notes.warn(below(path, key), f"unknown key, it has no effect{hint}")
            continue
        if flag != key and flag in entry:
            notes.warn(below(path, key), f"has no effect beside {flag!r}")
            continue
        if flag != key:
            notes.warn(
                below(path, key),
                f"is spelled {flag!r}; both spellings are accepted here, Volcano accepts only this one",
            )
        if value is None:
            notes.warn(below(path, key), f"is null, the default {values[flag]!r} is kept")
            continue
        try:
            values[flag] = convert(bool, value)
        except Mismatch as mismatch:
            notes.fault(below(path, key), f"got {reprlib.repr(value)}, expected {mismatch.expected}")
    return values
