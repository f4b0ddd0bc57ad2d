"""Plugins and actions by name, made from their arguments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from pyroclast.framework.configuration import FLAGS, PluginOption
from pyroclast.framework.configuration.arguments import NoArguments, argument, decode
from pyroclast.framework.extension import registry as module
from pyroclast.framework.extension.contract import Action, Plugin
from pyroclast.framework.extension.registry import Registry, register_action, register_plugin
from pyroclast.model.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class FillArgs:
    """Arguments."""

    weight: int = argument("fill.weight", 1)


@dataclass(frozen=True)
class Fill(Plugin):
    """A plugin as built-in ones are."""

    name = "fill"
    args: FillArgs

    def on_session_open(self, session: Any) -> None:
        """Register nothing."""


class Bare(Plugin):
    """A plugin without arguments."""

    name = "bare"

    def on_session_open(self, session: Any) -> None:
        """Register nothing."""


class Guided(Plugin):
    """A plugin as Volcano's guide has it: a function makes it from the raw mapping."""

    name = "guided"

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        """Keep the arguments."""
        self.arguments = arguments

    def on_session_open(self, session: Any) -> None:
        """Register nothing."""


class Explicit(Plugin):
    """A plugin whose arguments are named in a class attribute."""

    name = "explicit"
    arguments = FillArgs

    def __init__(self, args: FillArgs) -> None:
        """Keep the arguments."""
        self.args = args

    def on_session_open(self, session: Any) -> None:
        """Register nothing."""


def new(arguments: Mapping[str, Any]) -> Guided:
    """Build as in the guide."""
    return Guided(arguments)


def option(plugin: str, instance: str = "", **arguments: Any) -> PluginOption:
    """A plugin in a tier."""
    raw = {key.replace("__", "."): value for key, value in arguments.items()}
    return PluginOption(
        plugin=plugin, instance=instance or plugin, flags=FLAGS, arguments=raw, path="tiers[0].plugins[0]"
    )


def registered() -> Registry:
    """A registry with one plugin of each form."""
    registry = Registry()
    registry.register_plugin("fill", Fill)
    registry.register_plugin("bare", Bare)
    registry.register_plugin("guided", new)
    registry.register_plugin("explicit", Explicit)
    return registry


def test_a_class_is_given_its_decoded_arguments() -> None:
    """The class of arguments is the annotation of `args`, or the class attribute `arguments`."""
    for plugin in ("fill", "explicit"):
        built: Any = registered().build_plugin(option(plugin, fill__weight="5"))
        assert built.args == FillArgs(weight=5)
        assert isinstance(built, Plugin)


def test_a_class_without_arguments_is_made_with_none() -> None:
    """There is nothing to decode."""
    assert isinstance(registered().build_plugin(option("bare")), Bare)


def test_a_builder_is_given_the_raw_mapping() -> None:
    """A copy, so that it cannot write into the configuration."""
    given = option("guided", weight="5")

    built = registered().build_plugin(given)

    assert built.arguments == {"weight": "5"}
    assert built.arguments is not given.arguments


def test_each_build_makes_a_new_plugin() -> None:
    """Nothing outlives the session by accident."""
    registry = registered()

    assert registry.build_plugin(option("bare")) is not registry.build_plugin(option("bare"))


def test_an_instance_name_does_not_change_the_kind() -> None:
    """The builder is found by `name`."""
    assert isinstance(registered().build_plugin(option("bare", instance="other")), Bare)


def test_names_and_argument_types_feed_the_parser() -> None:
    """Names sorted; those that read the raw mapping have no type, and what takes nothing refuses everything."""
    registry = registered()

    assert registry.names() == ("bare", "explicit", "fill", "guided")
    assert registry.argument_types() == {"bare": NoArguments, "fill": FillArgs, "explicit": FillArgs}


def test_arguments_without_a_reader_are_reported() -> None:
    """They stand in the file without effect."""
    assert decode(NoArguments, {"weight": 1}, "a.arguments") == (
        NoArguments(),
        ["a.arguments.weight: no arguments are taken here"],
    )


def test_arguments_that_cannot_be_used_are_a_fault_with_path() -> None:
    """Also when they slipped past the parser."""

    @dataclass(frozen=True)
    class Refusing(Plugin):
        args: FillArgs
        name = "refusing"

        def __init__(self, args: FillArgs) -> None:
            raise ConfigError(f"weight {args.weight}")

    registry = Registry()
    registry.register_plugin("refusing", Refusing)

    with pytest.raises(ConfigError, match="weight 1"):
        registry.build_plugin(option("refusing"))


def test_a_clash_of_names_is_a_fault() -> None:
    """It names both sides."""
    registry = registered()

    with pytest.raises(ConfigError, match="plugin 'fill' from b: the name is taken by the one from built in"):
        registry.register_plugin("fill", new, source="b")


def test_a_class_that_calls_itself_otherwise_is_a_fault() -> None:
    """Configuration and messages would speak of two plugins."""
    with pytest.raises(ConfigError, match="plugin 'other' from built in: it calls itself 'bare'"):
        Registry().register_plugin("other", Bare)


def test_a_builder_that_makes_another_plugin_is_a_fault() -> None:
    """Seen when it is made for a configuration."""
    registry = Registry()
    registry.register_plugin("other", new)

    with pytest.raises(ConfigError, match=r"tiers\[0\].plugins\[0\].name: the builder of 'other' made .* 'guided'"):
        registry.build_plugin(option("other"))


def test_an_unknown_name_is_a_fault_with_the_nearest() -> None:
    """As in the configuration."""
    with pytest.raises(ConfigError, match=r"unknown plugin 'fil' \(did you mean 'fill'\?\)"):
        registered().builder("fil")
    with pytest.raises(ConfigError, match="unknown action 'x'"):
        registered().action("x")


def test_annotations_that_do_not_resolve_are_a_fault() -> None:
    """The remedy is named."""

    class Odd(Plugin):
        name = "odd"
        args: "Nowhere"  # type: ignore[name-defined]  # noqa: F821 - the subject of the test

    with pytest.raises(ConfigError, match="name its dataclass of arguments in a class attribute `arguments`"):
        Registry().register_plugin("odd", Odd)


def test_actions_are_made_anew_from_their_arguments() -> None:
    """An argument taken out of the file is back at its default."""

    @dataclass(frozen=True)
    class Run(Action):
        name = "run"
        args: FillArgs = FillArgs()

        def execute(self, session: Any) -> None:
            """Do nothing."""

    registry = Registry()
    registry.register_action("run", Run)

    weighted: Any = registry.build_action("run", {"fill.weight": 3})
    plain: Any = registry.build_action("run", {})
    assert (weighted.args, plain.args) == (FillArgs(weight=3), FillArgs())
    assert isinstance(registry.build_action("run", {}), Action)
    assert registry.action_argument_types() == {"run": FillArgs}
    assert registry.action_names() == ("run",)


def test_a_copy_is_a_registry_of_its_own() -> None:
    """Plugins of one daemon do not reach another."""
    registry = Registry()
    copy = registry.copy()
    copy.register_plugin("bare", Bare)

    assert registry.names() == ()


def test_the_public_functions_register_for_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Volcano's RegisterPluginBuilder."""
    registry = Registry()
    monkeypatch.setattr(module, "DEFAULT", registry)

    register_plugin("bare", Bare)
    register_action("guided", new)

    assert registry.names() == ("bare",)
    assert registry.action_names() == ("guided",)
    with pytest.raises(ConfigError, match="the name is taken"):
        register_plugin("bare", new)


class Duck:
    """What has the methods of a plugin, but is none."""

    name = "duck"

    def on_session_open(self, session: Any) -> None:
        """Register nothing."""


def test_a_class_that_is_no_plugin_is_a_fault() -> None:
    """The remedy is named."""
    with pytest.raises(ConfigError, match=r"Duck does not inherit from pyroclast\.Plugin"):
        Registry().register_plugin("duck", Duck)
    with pytest.raises(ConfigError, match=r"Bare does not inherit from pyroclast\.Action"):
        Registry().register_action("bare", Bare)


def test_a_builder_that_makes_no_plugin_is_a_fault() -> None:
    """It is found out when the plugin is made."""
    registry = Registry()
    registry.register_plugin("duck", lambda _: Duck())
    registry.register_action("duck", lambda _: Duck())

    with pytest.raises(ConfigError, match=r"made a Duck, which does not inherit from pyroclast\.Plugin"):
        registry.build_plugin(option("duck"))
    with pytest.raises(ConfigError, match=r"made a Duck, which does not inherit from pyroclast\.Action"):
        registry.build_action("duck", {})


def test_the_return_class_of_a_function_limits_its_plugins() -> None:
    """`new(arguments)` declares nothing of its own; where it names no class its plugins may do all."""

    class Scorer(Bare):
        filters_nodes = False

    def new(_arguments: Mapping[str, Any]) -> Scorer:
        return Scorer()

    def vague(_arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  # as authors write it
        return Scorer()

    new.__annotations__["return"] = Scorer
    registry = Registry()
    registry.register_plugin("new", new, source="the test")
    registry.register_plugin("vague", vague, source="the test")
    registry.register_plugin("bare", Scorer, source="the test")

    assert not registry.may("new", "filters_nodes")
    assert registry.may("new", "guards_victims")
    assert registry.may("vague", "filters_nodes")
    assert not registry.may("bare", "filters_nodes")
