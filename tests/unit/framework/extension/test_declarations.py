"""What plugins declare: kinds and controllers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.extension.contract import Plugin, PluginController
from pyroclast.framework.extension.declarations import Declared, declared
from pyroclast.model.errors import ConfigError
from pyroclast.model.watched import WatchedKind
from pyroclast.scheduler.cli.commands.config import main
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.registry import load_registry


def kind(resource: str = "licences") -> WatchedKind:
    """Return a kind."""
    return WatchedKind(group="example.com", version="v1", resource=resource, kind=resource.capitalize())


async def idle(_: Any) -> None:
    """Do nothing."""


def controller(name: str = "count", **parts: Any) -> PluginController:
    """Return a controller."""
    given: dict[str, Any] = {"name": name, "kind": kind(), "reconcile": idle}
    return PluginController(**given | parts)


def plugin(name: str, kinds: Callable[[], Any] = tuple, controllers: Callable[[], Any] = tuple) -> type[Plugin]:
    """Return a plugin that declares these."""
    body = {"name": name, "watched_kinds": lambda _: kinds(), "controllers": lambda _: controllers()}
    return type("Declaring", (Plugin,), {**body, "on_session_open": lambda *_: None})


def read(*plugins: type[Plugin], shadows: tuple[str, ...] = ()) -> Declared:
    """Return what plugins of one configuration declare."""
    registry = load_registry()
    for each in plugins:
        registry.register_plugin(each.name, each, source="a test")
    entries = ", ".join(f"{{name: {each.name}, shadow: {str(each.name in shadows).lower()}}}" for each in plugins)
    parsed = read_configuration(f"actions: allocate\ntiers:\n- plugins: [{entries}]\n", registry)
    configuration: Configuration = parsed.configuration
    return declared(configuration, registry)


def test_equal_declarations_of_several_plugins_are_one_kind() -> None:
    """So that the server is asked once. The kinds of controllers are watched, too."""
    found = read(
        plugin("a", lambda: [kind("seats"), kind()]), plugin("b", lambda: [kind("seats")], lambda: [controller()])
    )

    assert list(found.kinds) == ["licences.v1.example.com", "seats.v1.example.com"]
    assert found.watchers == {"licences.v1.example.com": ("a", "b"), "seats.v1.example.com": ("a", "b")}
    assert list(found.controllers) == ["b/count"]


def test_a_plugin_in_shadow_mode_declares_nothing() -> None:
    """No decision depends on it, and it writes nothing."""
    found = read(plugin("a", lambda: [kind()], lambda: [controller()]), shadows=("a",))

    assert (dict(found.kinds), dict(found.controllers)) == ({}, {})


def fails() -> Any:
    """Fail as plugins may."""
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("kinds", "controllers", "fault"),
    [
        (fails, tuple, r"watched_kinds\(\) failed: 3"),
        (lambda: ["licences"], tuple, r"watched_kinds\(\) returned a str, expected a WatchedKind"),
        (lambda: [kind(f"k{number}") for number in range(17)], tuple, r"watched_kinds\(\) returned more than 16"),
        (lambda: [kind(f"k{number}") for number in range(16)], lambda: [controller()], "more than 16 kinds"),
        (tuple, lambda: [controller(f"c{number}") for number in range(17)], "more than 16"),
        (tuple, lambda: [controller("a/b")], "got the name 'a/b'"),
        (tuple, lambda: [controller(), controller()], "got the name 'count', expected one that is unique"),
        (tuple, lambda: [controller(kind="licences")], "count: expected a WatchedKind, got str"),
        (tuple, lambda: [controller(reconcile=print)], "count: reconcile is no async function"),
        (tuple, lambda: [controller(workers=9)], "workers: expected 1 to 8, got 9"),
    ],
)
def test_a_wrong_declaration_is_a_fault_of_the_configuration(
    kinds: Callable[[], Any], controllers: Callable[[], Any], fault: str
) -> None:
    """It names the place of the plugin."""
    with pytest.raises(ConfigError, match=rf"tiers\[0\].plugins\[0\].name: plugin 'a': .*{fault}"):
        read(plugin("a", kinds, controllers))


def test_an_endless_declaration_is_cut() -> None:
    """A generator that never ends is read up to the limit."""

    def endless() -> Any:
        number = 0
        while True:
            yield kind(f"k{number}")
            number += 1

    with pytest.raises(ConfigError, match="more than 16"):
        read(plugin("a", endless))


def test_the_check_of_a_configuration_reports_a_wrong_declaration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the scheduler would refuse the file."""
    (tmp_path / "wrong.py").write_text(
        "from pyroclast import Plugin\n\n\nclass Wrong(Plugin):\n    name = 'wrong'\n\n"
        "    def on_session_open(self, session): ...\n\n    def watched_kinds(self):\n        return ['pods']\n"
    )
    file = tmp_path / "scheduler.yaml"
    file.write_text("actions: allocate\ntiers:\n- plugins: [{name: wrong}]\n")

    assert main(["check", "--plugins-dir", str(tmp_path), str(file)]) == 1
    assert "plugin 'wrong': watched_kinds() returned a str, expected a WatchedKind" in capsys.readouterr().out
