"""Declarations: the kinds that the plugins of a configuration watch, and their controllers."""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeVar

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.extension.contract import Plugin, PluginController
from pyroclast.framework.extension.registry import Registry
from pyroclast.model.errors import ConfigError
from pyroclast.model.sealed import SealedDict
from pyroclast.model.texts import said_by
from pyroclast.model.watched import WatchedKind

__all__ = ["MOST_CONTROLLERS", "MOST_KINDS", "NOTHING_DECLARED", "Declared", "declared"]

MOST_KINDS: Final = 16
"""Maximum number of kinds that one plugin watches, those of its controllers included."""
MOST_CONTROLLERS: Final = 16
"""Maximum number of controllers of one plugin."""
_MOST_WORKERS: Final = 8
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What the plugins of a configuration declare."""

    kinds: Mapping[str, WatchedKind]
    """The kinds to watch, by name, each once."""
    watchers: Mapping[str, tuple[str, ...]]
    """The plugins that watch a kind, by its name."""
    controllers: Mapping[str, tuple[str, PluginController]]
    """Plugins and their controllers, by `plugin/controller`. The first profile of several with a plugin counts."""


NOTHING_DECLARED: Final = Declared(kinds=SealedDict(), watchers=SealedDict(), controllers=SealedDict())


def declared(configuration: Configuration, registry: Registry) -> Declared:
    """Return what the plugins of all profiles declare. Plugins in shadow mode declare nothing.

    Raises:
        ConfigError: A plugin declares something wrong, or too much.
    """
    kinds: dict[str, WatchedKind] = {}
    watchers: dict[str, dict[str, None]] = {}
    controllers: dict[str, tuple[str, PluginController]] = {}
    faults: list[str] = []
    for profile in configuration.profiles:
        for option in profile.plugins:
            try:
                plugin = registry.build_plugin(option)
            except BaseException:  # noqa: BLE001, S112  # the cycle reports it, and a plugin must not end the process
                continue
            try:
                own_kinds, own_controllers = _of_plugin(plugin)
            except _WrongError as error:
                faults.append(f"{option.path}.name: plugin {option.instance!r}: {error}")
                continue
            for kind in own_kinds:
                kinds.setdefault(kind.name, kind)
                watchers.setdefault(kind.name, {})[option.instance] = None
            for each in own_controllers:
                controllers.setdefault(f"{option.instance}/{each.name}", (option.instance, each))
    if faults:
        raise ConfigError(*dict.fromkeys(faults))
    return Declared(
        kinds=SealedDict(sorted(kinds.items())),
        watchers={name: tuple(found) for name, found in watchers.items()},
        controllers=SealedDict(sorted(controllers.items())),
    )


class _WrongError(Exception):
    """A plugin declares something wrong."""


def _of_plugin(plugin: Plugin) -> tuple[Sequence[WatchedKind], Sequence[PluginController]]:
    controllers = _listed(plugin, "controllers", PluginController, MOST_CONTROLLERS)
    names = [each.name for each in controllers]
    for each in controllers:
        name: Any = each.name  # plugins need not be checked for types
        workers: Any = each.workers
        if not isinstance(name, str) or not _NAME.fullmatch(name) or names.count(name) > 1:
            raise _WrongError(f"controllers: got the name {each.name!r}, expected one that is unique, such as my-name")
        if not isinstance(each.kind, WatchedKind):
            raise _WrongError(f"controllers: {each.name}: expected a WatchedKind, got {type(each.kind).__name__}")
        if not inspect.iscoroutinefunction(each.reconcile):
            raise _WrongError(f"controllers: {each.name}: reconcile is no async function")
        if not isinstance(workers, int) or not 1 <= workers <= _MOST_WORKERS:
            raise _WrongError(f"controllers: {name}: workers: expected 1 to {_MOST_WORKERS}, got {workers!r}")
    kinds = [*_listed(plugin, "watched_kinds", WatchedKind, MOST_KINDS), *(each.kind for each in controllers)]
    by_name = {kind.name: kind for kind in kinds}
    if len(by_name) > MOST_KINDS:
        raise _WrongError(f"more than {MOST_KINDS} kinds with those of its controllers")
    return tuple(by_name.values()), controllers


def _listed(plugin: Plugin, name: str, kind: type[T], most: int) -> tuple[T, ...]:
    """Return what a method of a plugin declares."""
    try:
        found = tuple(islice(getattr(plugin, name)(), most + 1))
    except BaseException as error:  # code from outside: it must not end the process
        raise _WrongError(f"{name}() failed: {said_by(error)}") from error
    if len(found) > most:
        raise _WrongError(f"{name}() returned more than {most}")
    for each in found:
        if not isinstance(each, kind):
            raise _WrongError(f"{name}() returned a {type(each).__name__}, expected a {kind.__name__}")
    return found
