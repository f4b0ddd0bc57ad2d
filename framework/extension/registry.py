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
from typing import Any, Final, get_type_hints

from pyroclast.framework.configuration import PluginOption
from pyroclast.framework.configuration.arguments import NoArguments, decode
from pyroclast.framework.configuration.conversions import NAMES
from pyroclast.framework.configuration.suggest import did_you_mean
from pyroclast.framework.extension.contract import Ability, Action, Plugin
from pyroclast.model.errors import ConfigError

__all__ = [
    "DEFAULT",
    "Builder",
    "Registry",
    "filling",
    "name_of",
    "register_action",
    "register_plugin",
    "says_no",
]


BUILT_IN: Final = "built in"
"""The source of plugins and actions that are ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """Makes one plugin or action from raw arguments."""

    name: str
    make: Callable[..., Any]
    arguments: type | None
    """The dataclass of arguments; None if `make` takes the raw mapping or nothing."""
    takes_raw: bool = False
    """Whether `make` is given the raw mapping."""
    source: str = BUILT_IN
    """Source, for messages: `built in`, an entry point, a file."""

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
        return self.make(args=decoded[0])  # the warnings were reported when the configuration was read


@dataclass(slots=True)
class Registry:
    """Plugins and actions by name. A name belongs to its first registration."""

    plugins: dict[str, Builder] = field(default_factory=dict)
    actions: dict[str, Builder] = field(default_factory=dict)

    def register_plugin(self, name: str, builder: Callable[..., Any], *, source: str = BUILT_IN) -> None:
        """Add a plugin.

        Raises:
            ConfigError: The name is taken, or the builder's own `name` is another.
        """
        self._add(self.plugins, Plugin, name, builder, source)

    def register_action(self, name: str, builder: Callable[..., Any], *, source: str = BUILT_IN) -> None:
        """Add an action; raises as `register_plugin`."""
        self._add(self.actions, Action, name, builder, source)

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

    def may(self, plugin: str, what: Ability) -> bool:
        """Return whether a plugin may do something, unless its class denies it. Only the class is known at this time.

        The class of a function is its declared return type.
        """
        known = self.plugins.get(plugin)
        return known is None or not says_no(_class_made_by(known.make), what)

    def is_action_from_outside(self, action: str) -> bool:
        """Return whether an action is none of ours."""
        known = self.actions.get(action)
        return known is None or known.source != BUILT_IN

    def argument_types(self) -> dict[str, type]:
        """Return the dataclass of arguments by plugin; those that read the raw mapping themselves have none."""
        return _types(self.plugins)

    def action_argument_types(self) -> dict[str, type]:
        """Return the dataclass of arguments by action."""
        return _types(self.actions)

    def build_plugin(self, option: PluginOption) -> Plugin:
        """Return a new plugin for its place in a tier.

        Raises:
            ConfigError: There is no such plugin, its arguments cannot be used, or what was made is no plugin of that
                name.
        """
        plugin = self.builder(option.plugin).build(option.arguments, f"{option.path}.arguments")
        where = f"{option.path}.name: the builder of {option.plugin!r} made"
        if not isinstance(plugin, Plugin):
            raise ConfigError(f"{where} a {type(plugin).__name__}, which does not inherit from pyroclast.Plugin")
        if plugin.name not in ("", option.plugin):
            raise ConfigError(f"{where} a plugin called {plugin.name!r}")
        return plugin

    def build_action(self, name: str, arguments: Mapping[str, Any], path: str = "") -> Action:
        """Return a new action; raises ConfigError when there is none or its arguments cannot be used."""
        action = self.action(name).build(arguments, path or f"configurations.{name}.arguments")
        if not isinstance(action, Action):
            kind = type(action).__name__
            raise ConfigError(
                f"the builder of action {name!r} made a {kind}, which does not inherit from pyroclast.Action"
            )
        return action

    def copy(self) -> "Registry":
        """Return a registry of its own with the same contents, to add plugins of one daemon to."""
        return Registry(plugins=dict(self.plugins), actions=dict(self.actions))

    def _add(
        self, into: dict[str, Builder], base: type[Plugin | Action], name: str, builder: Callable[..., Any], source: str
    ) -> None:
        what = base.__name__.lower()
        if name in into:
            raise ConfigError(f"{what} {name!r} from {source}: the name is taken by the one from {into[name].source}")
        if inspect.isclass(builder):
            _check_class(builder, base, f"{what} {name!r} from {source}", name)
        into[name] = _builder(name, builder, source)


DEFAULT: Final = Registry()
"""Registry of this process. A daemon works with a copy."""


_filling: ContextVar["Registry | None"] = ContextVar("_filling", default=None)
"""Target of `register_plugin` and `register_action`: the registry that a file is being loaded into, else `DEFAULT`."""


@contextmanager
def filling(registry: Registry) -> Iterator[None]:
    """Direct the registrations in a block to a registry, so that a reloaded file does not conflict with itself."""
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
    """Register an action; raises as `register_plugin`."""
    (_filling.get() or DEFAULT).register_action(name, builder, source=_origin(builder))


def _check_class(builder: type, base: type[Plugin | Action], what: str, name: str) -> None:
    if not issubclass(builder, base):
        raise ConfigError(f"{what}: {builder.__name__} does not inherit from pyroclast.{base.__name__}")
    if builder.name not in ("", name):
        raise ConfigError(f"{what}: it calls itself {builder.name!r}")


def name_of(made: Any) -> str | None:
    """Return the name a plugin, an action or its class gives itself; None without one."""
    is_known = isinstance(made, Plugin | Action) or (inspect.isclass(made) and issubclass(made, Plugin | Action))
    return made.name or None if is_known else None


def _builder(name: str, make: Callable[..., Any], source: str) -> Builder:
    if not inspect.isclass(make):
        return Builder(name=name, make=make, arguments=None, takes_raw=True, source=source)
    kind = make.arguments if issubclass(make, Plugin | Action) else None
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


def says_no(declares: Plugin | type[Plugin], what: Ability) -> bool:
    """Return whether a plugin, or its class, declares that it does not do something."""
    try:
        declared = declares.guards_victims if what == "guards_victims" else declares.filters_nodes
    except Exception:  # noqa: BLE001  # code from outside may stand behind an attribute; it has not said no then
        return False
    return declared is False


def _class_made_by(make: Callable[..., Any]) -> type[Plugin]:
    """Return the class of a builder's plugins; `Plugin` itself if it is not declared."""
    try:
        made = make if inspect.isclass(make) else get_type_hints(make).get("return")
    except Exception:  # noqa: BLE001  # annotations from outside may name anything
        return Plugin
    return made if inspect.isclass(made) and issubclass(made, Plugin) else Plugin
