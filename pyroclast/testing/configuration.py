"""The configuration of a test: plugins by name, by class or as objects; every flag has its default."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyroclast.framework.configuration import Parsed, parse
from pyroclast.framework.extension.registry import Registry, name_of
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.registry import load_registry

__all__ = ["PluginChoice", "configured"]

PluginChoice = str | Mapping[str, Any] | Any
"""A name, a plugin's class, a plugin; an entry of the configuration file, whose `name` may be any of these; or a
sequence of all that, which makes a tier."""


def configured(
    actions: Sequence[str], plugins: Sequence[PluginChoice], arguments: Mapping[str, Mapping[str, Any]]
) -> tuple[Parsed, Registry]:
    """Return a configuration with its warnings, and a registry with the plugins given as classes and objects.

    Raises:
        ConfigError: A plugin or an action is unknown, or an argument cannot be used.
    """
    registry = load_registry()
    tiers = [[_entry(choice, registry, arguments) for choice in tier] for tier in _tiers(plugins)]
    for tier in tiers:
        for entry in tier:
            registry.builder(entry["name"])  # an unknown name is skipped in a cluster, but is an error in a test
    document = {
        "actions": list(actions) or ["enqueue"],
        "tiers": [{"plugins": tier} for tier in tiers],
        "configurations": [
            {"name": name, "arguments": each} for name, each in arguments.items() if name in registry.actions
        ],
    }
    parsed = parse(
        document,
        known_plugins=registry.names(),
        known_actions=registry.action_names(),
        argument_types=registry.argument_types(),
        action_argument_types=registry.action_argument_types(),
    )
    return parsed, registry


def _tiers(plugins: Sequence[PluginChoice]) -> list[Sequence[PluginChoice]]:
    """Split plugins into tiers: each sequence is a tier, and all plugins between two sequences are one tier."""
    tiers: list[Sequence[PluginChoice]] = []
    single_plugins: list[PluginChoice] = []
    for choice in plugins:
        if isinstance(choice, tuple | list):
            tiers += [single_plugins, choice] if single_plugins else [choice]
            single_plugins = []
        else:
            single_plugins.append(choice)
    return [*tiers, single_plugins] if single_plugins else tiers


def _entry(choice: PluginChoice, registry: Registry, arguments: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    entry = dict(choice) if isinstance(choice, Mapping) else {"name": choice}
    entry["name"] = _name(entry.get("name"), registry)
    given = arguments.get(entry.get("instance", entry["name"])) or arguments.get(entry["name"])
    return entry if given is None else {**entry, "arguments": given}


def _name(choice: PluginChoice, registry: Registry) -> str:
    if isinstance(choice, str):
        return choice
    name = str(name_of(choice) or getattr(choice, "__name__", type(choice).__name__))
    if not isinstance(choice, type) and not hasattr(choice, "on_session_open"):
        raise ConfigError(f"{choice!r} is not a plugin: it has no on_session_open")
    registry.plugins.pop(name, None)  # a test may bring its own plugin of a known name
    registry.register_plugin(name, choice if isinstance(choice, type) else lambda _: choice, source="the test")
    return name
