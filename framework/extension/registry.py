"""Registry: the known plugins and actions by name, and how one is built from its arguments.

A builder of a plugin is one of:

- a class with `name`, and `arguments`, the dataclass its arguments are decoded into (or the annotation of `args`); it
  is called with `args=<that dataclass>`, or with nothing when it takes no arguments;
- a callable `new(arguments)`, as in Volcano's plugin guide: it is given the raw mapping.

Actions are classes of the first kind. Plugins and actions are made anew from the configuration, so that an argument
taken out of the file loses its effect.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, get_type_hints, runtime_checkable

from pyroclast.framework.configuration import PluginOption
from pyroclast.framework.configuration.arguments import NoArguments, decode
from pyroclast.framework.configuration.conversions import NAMES
from pyroclast.framework.configuration.suggest import did_you_mean
from pyroclast.model.errors import ConfigError

__all__ = [
    "DEFAULT",
    "Action",
    "Builder",
    "Plugin",
    "Registry",
    "filling",
    "name_of",
    "register_action",
    "register_plugin",
]


BUILT_IN: Final = "built in"
"""The source of plugins and actions that are ours."""


@runtime_checkable
class Plugin(Protocol):
    """What the session asks of a plugin; `on_session_close(session)` may be there too."""

    def on_session_open(self, session: Any) -> None:
        """Register a function for every extension point the plugin serves."""
        ...


@runtime_checkable
class Action(Protocol):
    """One phase of a cycle."""

    def execute(self, session: Any) -> None:
        """Do the phase's work in the session."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """Makes one plugin or action from raw arguments."""

    name: str
    make: Callable[..., Any]
    arguments: type | None
    """The dataclass of arguments; None where `make` takes the raw mapping or nothing."""
    takes_raw: bool = False
    """Whether `make` is given the raw mapping."""
    source: str = BUILT_IN
    """Where it comes from, for messages: `built in`, an entry point, a file."""

    def build(self, raw: Mapping[str, Any], path: str) -> Any:
        """Return a new plugin or action.

        Args:
            raw: Arguments as they stand in the configuration.
            path: Where they stand, for messages.

        Raises:
            ConfigError: The arguments cannot be used.
        """
        if self.takes_raw:
            return self.make(dict(raw))
        if self.arguments is None:
            return self.make()
        decoded: tuple[Any, list[str]] = decode(self.arguments, raw, path)
        return self.make(args=decoded[0])  # the warnings were told when the configuration was read


@dataclass(slots=True)
class Registry:
    """Plugins and actions by name; a name belongs to the first who takes it."""

    plugins: dict[str, Builder] = field(default_factory=dict)
    actions: dict[str, Builder] = field(default_factory=dict)

    def register_plugin(self, name: str, builder: Callable[..., Any], *, source: str = BUILT_IN) -> None:
        """Add a plugin.

        Raises:
            ConfigError: The name is taken, or the builder's own `name` is another.
        """
        self._add(self.plugins, "plugin", name, builder, source)

    def register_action(self, name: str, builder: Callable[..., Any], *, source: str = BUILT_IN) -> None:
        """Add an action; raises as `register_plugin`."""
        self._add(self.actions, "action", name, builder, source)

    def names(self) -> tuple[str, ...]:
        """Return the names of all plugins, sorted."""
        return tuple(sorted(self.plugins))

    def action_names(self) -> tuple[str, ...]:
        """Return the names of all actions, sorted."""
        return tuple(sorted(self.actions))

    def builder(self, name: str) -> Builder:
        """Return the builder of a plugin; raises ConfigError when there is none."""
        return _find(self.plugins, "plugin", name)

    def action(self, name: str) -> Builder:
        """Return the builder of an action; raises ConfigError when there is none."""
        return _find(self.actions, "action", name)

    def is_from_outside(self, plugin: str) -> bool:
        """Return whether a plugin is none of ours."""
        known = self.plugins.get(plugin)
        return known is None or known.source != BUILT_IN

    def guards_victims(self, plugin: str) -> bool:
        """Return whether a plugin may spare victims: unless its class says `guards_victims = False`."""
        return self._says_nothing_of(plugin, "guards_victims")

    def filters_nodes(self, plugin: str) -> bool:
        """Return whether a plugin may have predicates: unless its class says `filters_nodes = False`."""
        return self._says_nothing_of(plugin, "filters_nodes")

    def _says_nothing_of(self, plugin: str, attribute: str) -> bool:
        known = self.plugins.get(plugin)
        return known is None or getattr(known.make, attribute, True) is not False

    def is_action_from_outside(self, action: str) -> bool:
        """Return whether an action is none of ours."""
        known = self.actions.get(action)
        return known is None or known.source != BUILT_IN

    def argument_types(self) -> dict[str, type]:
        """Return the dataclass of arguments by plugin; those that read the raw mapping themselves have none."""
        return _types(self.plugins)

    def action_argument_types(self) -> dict[str, type]:
        """Return the dataclass of arguments by action, likewise."""
        return _types(self.actions)

    def build_plugin(self, option: PluginOption) -> Any:
        """Return a new plugin for its place in a tier.

        Raises:
            ConfigError: There is no such plugin, its arguments cannot be used, or what was made calls itself otherwise.
        """
        plugin = self.builder(option.plugin).build(option.arguments, f"{option.path}.arguments")
        own_name = name_of(plugin)
        if own_name not in (None, option.plugin):
            raise ConfigError(f"{option.path}.name: the builder of {option.plugin!r} made a plugin called {own_name!r}")
        return plugin

    def build_action(self, name: str, arguments: Mapping[str, Any], path: str = "") -> Any:
        """Return a new action; raises ConfigError when there is none or its arguments cannot be used."""
        return self.action(name).build(arguments, path or f"configurations.{name}.arguments")

    def copy(self) -> "Registry":
        """Return a registry of its own with the same contents, to add plugins of one daemon to."""
        return Registry(plugins=dict(self.plugins), actions=dict(self.actions))

    def _add(self, into: dict[str, Builder], what: str, name: str, builder: Callable[..., Any], source: str) -> None:
        if name in into:
            raise ConfigError(f"{what} {name!r} from {source}: the name is taken by the one from {into[name].source}")
        own_name = name_of(builder) if inspect.isclass(builder) else None
        if own_name not in (None, name):
            raise ConfigError(f"{what} {name!r} from {source}: it calls itself {own_name!r}")
        into[name] = _builder(name, builder, source)


DEFAULT: Final = Registry()
"""What is registered in this process; a daemon works with a copy."""


_filling: ContextVar["Registry | None"] = ContextVar("_filling", default=None)
"""Where `register_plugin` and `register_action` go: the registry that a file is being loaded into, else `DEFAULT`."""


@contextmanager
def filling(registry: Registry) -> Iterator[None]:
    """Let what is registered in a block go into a registry, so that a file loaded anew does not meet itself."""
    token = _filling.set(registry)
    try:
        yield
    finally:
        _filling.reset(token)


def register_plugin(name: str, builder: Callable[..., Any]) -> None:
    """Make a plugin known to every scheduler of this process; from a file of plugins, to the one that loads it.

    Raises:
        ConfigError: The name is taken, or the builder's own `name` is another.
    """
    (_filling.get() or DEFAULT).register_plugin(name, builder, source=_origin(builder))


def register_action(name: str, builder: Callable[..., Any]) -> None:
    """Make an action known, likewise; raises as `register_plugin`."""
    (_filling.get() or DEFAULT).register_action(name, builder, source=_origin(builder))


def name_of(plugin: Any) -> str | None:
    """Return the name a plugin or its class gives itself, as `name` or `Name`, a text or a method; None without one."""
    for attribute in ("name", "Name"):
        value = getattr(plugin, attribute, None)
        if isinstance(value, str):
            return value
        if callable(value) and not inspect.isclass(plugin):
            return str(value())
    return None


def _builder(name: str, make: Callable[..., Any], source: str) -> Builder:
    if not inspect.isclass(make):
        return Builder(name=name, make=make, arguments=None, takes_raw=True, source=source)
    kind = getattr(make, "arguments", None)
    if not inspect.isclass(kind):
        kind = _annotated_arguments(make, source)
    return Builder(name=name, make=make, arguments=kind if inspect.isclass(kind) else None, source=source)


def _annotated_arguments(make: type, source: str) -> Any:
    try:
        return get_type_hints(make, localns=NAMES).get("args")
    except NameError as error:
        message = (
            f"{source}: {make.__name__}: {error}; name its dataclass of arguments in a class attribute `arguments`"
        )
        raise ConfigError(message) from error


def _types(builders: Mapping[str, Builder]) -> dict[str, type]:
    return {name: each.arguments or NoArguments for name, each in builders.items() if not each.takes_raw}


def _find(builders: Mapping[str, Builder], what: str, name: str) -> Builder:
    if name not in builders:
        raise ConfigError(f"unknown {what} {name!r}{did_you_mean(name, builders)}")
    return builders[name]


def _origin(builder: Callable[..., Any]) -> str:
    return str(getattr(builder, "__module__", None) or "register_plugin")
