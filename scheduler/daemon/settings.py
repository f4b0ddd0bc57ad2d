"""Settings: the configuration and plugins in force. They are read before each cycle; faults go to logs and metrics.

Both change together, because each plugin parses its own arguments.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog

from pyroclast.framework.configuration import Configuration, Parsed, parse
from pyroclast.framework.extension.declarations import NOTHING_DECLARED, Declared, declared
from pyroclast.framework.extension.registry import Registry
from pyroclast.model.errors import ConfigError
from pyroclast.model.gangs import GangRules
from pyroclast.plugins.coscheduling import gang_rules
from pyroclast.scheduler.daemon.plugin_files import PluginFiles
from pyroclast.scheduler.daemon.reload import ConfigFile, Reload
from pyroclast.scheduler.data import default_configuration
from pyroclast.scheduler.monitoring.metrics import Metrics

__all__ = ["Settings", "read_configuration", "rules_of_gangs", "unreachable_profiles", "with_profiles_for"]

_log = structlog.get_logger(__name__)


class Settings:
    """The configuration of one daemon.

    An invalid file at the start is an error. If the file becomes invalid later, the last valid one stays in force.
    """

    def __init__(
        self,
        path: str,
        plugins: PluginFiles,
        metrics: Metrics,
        *,
        scheduler_names: Sequence[str],
        strict: bool = False,
        refused: Callable[[Sequence[str]], object] = lambda _: None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Read the configuration.

        Args:
            path: The file; empty for the built-in one.
            plugins: The plugins that the file may name.
            metrics: Receives the generation and the reloads.
            scheduler_names: The names whose profiles are used.
            strict: Whether warnings are faults.
            refused: Called with the faults of a reload, in the thread that polls.
            wall: Returns seconds since 1970.

        Raises:
            ConfigError: The file has faults.
        """
        self._metrics, self._names, self._refused, self._wall = metrics, scheduler_names, refused, wall
        self._text, self._registry = "", plugins.registry()
        self.declared: Declared = NOTHING_DECLARED
        """What the plugins of the configuration in force watch and control."""
        self._plugin_sources = plugins.sources

        def read(text: str, generation: int) -> Parsed:
            registry = plugins.registry()
            parsed = read_configuration(text, registry, strict=strict, generation=generation)
            declarations = declared(self._choose(parsed.configuration), registry)
            self.declared = declarations
            self._text, self._registry, self._plugin_sources = text, registry, plugins.sources
            return parsed

        self._file = ConfigFile(Path(path) if path else default_configuration(), read, beside=plugins.digest)
        self._take(self._file.poll())
        if self._file.current is None:
            raise ConfigError(
                *(fault if fault.startswith(f"{path}: ") else f"{path}: {fault}" for fault in self._file.faults)
            )
        self._chosen = self._choose(self._file.current.configuration)

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of the current files."""
        return self._file.faults

    @property
    def in_force(self) -> Configuration:
        """The configuration of the last poll."""
        return self._chosen

    @property
    def text(self) -> str:
        """The text of the configuration in force."""
        return self._text

    @property
    def plugin_sources(self) -> Mapping[str, str]:
        """The texts of the plugins in force that came from files, by file name."""
        return self._plugin_sources

    @property
    def registry(self) -> Registry:
        """Plugins and actions in force."""
        return self._registry

    def current(self) -> Configuration:
        """Read the files, and return the next cycle's configuration, with the profiles of our scheduler names."""
        reload = self._file.poll()
        if reload is not None:
            self._take(reload)
            if reload.parsed is not None:
                self._chosen = self._choose(reload.parsed.configuration)
        return self._chosen

    def _take(self, reload: Reload | None) -> None:
        """Report a reload in the log and the metrics."""
        if reload is None:
            return
        for warning in reload.warnings:
            _log.warning("configuration_warning", warning=warning)
        self._metrics.put("pyroclast_configuration_reload_ok", float(reload.parsed is not None))
        if reload.parsed is None:
            _log.error("configuration_refused", faults=reload.faults)
            self._refused(reload.faults)
            return
        configuration = reload.parsed.configuration
        self._metrics.put("pyroclast_configuration_generation", configuration.generation)
        self._metrics.put("pyroclast_configuration_reload_time_seconds", self._wall())
        chosen = self._choose(configuration)
        _log.info(
            "configuration_taken",
            generation=configuration.generation,
            recovered=reload.recovered,
            actions=chosen.profiles[0].actions,
            profiles=[profile.name for profile in chosen.profiles],
        )
        for names in unreachable_profiles(configuration, self._names):
            _log.warning("profile_unreachable", scheduler_names=names or "those of no profile", served=self._names)

    def _choose(self, configuration: Configuration) -> Configuration:
        """Return a configuration with the profiles of our scheduler names; raises as `with_profiles_for`."""
        return with_profiles_for(configuration, self._names)


def with_profiles_for(configuration: Configuration, scheduler_names: Sequence[str]) -> Configuration:
    """Return a configuration with only the profiles of the scheduler names, in the order of the file.

    Raises:
        ConfigError: A name has no profile.
    """
    names: dict[int, str] = {}
    for name in scheduler_names:
        profile = configuration.profile(name)
        if profile is None:
            raise ConfigError(f"profiles: none for the scheduler name {name!r}")
        names.setdefault(configuration.profiles.index(profile), name)
    return replace(
        configuration, profiles=tuple(replace(configuration.profiles[at], name=names[at]) for at in sorted(names))
    )


def rules_of_gangs(configuration: Configuration) -> GangRules | None:
    """Return the rules by which jobs are made of gangs: those of the first profile that has some."""
    return next((rules for profile in configuration.profiles if (rules := gang_rules(profile)) is not None), None)


def unreachable_profiles(configuration: Configuration, scheduler_names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the scheduler names of each profile that none of the served names reaches; no names for the others'."""
    reached = [configuration.profile(name) for name in scheduler_names]
    return tuple(
        profile.scheduler_names for profile in configuration.profiles if not any(profile is each for each in reached)
    )


def read_configuration(
    text: str | Mapping[str, Any], registry: Registry, *, strict: bool = False, generation: int = 1
) -> Parsed:
    """Read a configuration with the plugins and actions of a registry.

    Raises:
        ConfigError: The configuration has faults.
    """
    return parse(
        text,
        known_plugins=registry.names(),
        known_actions=registry.action_names(),
        argument_types=registry.argument_types(),
        action_argument_types=registry.action_argument_types(),
        strict=strict,
        generation=generation,
    )
