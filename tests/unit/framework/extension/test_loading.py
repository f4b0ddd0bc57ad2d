"""Plugins from entry points, modules and folders."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from pyroclast.framework.configuration import FLAGS, PluginOption
from pyroclast.framework.extension.loading import GROUP, load_entry_points, load_folder
from pyroclast.framework.extension.registry import Registry
from pyroclast.model.errors import ConfigError

EXPECTED = "expected new(arguments) or one class that inherits from pyroclast.Plugin"
CLASS = """
from pyroclast import Plugin


class {kind}(Plugin):
    name = {name!r}

    def on_session_open(self, session):
        pass
"""

NEW = """
import pyroclast


class Plugin(pyroclast.Plugin):
    name = {name!r}

    def __init__(self, arguments):
        self.arguments = arguments

    def on_session_open(self, session):
        pass


def {new}(arguments):
    return Plugin(arguments)
"""


@pytest.fixture(autouse=True)
def _forget_modules() -> Iterator[None]:
    """Leave no module of a test behind."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder: Path, **files: str) -> Path:
    """Write files by stem, where `_` stands for a hyphen."""
    for stem, text in files.items():
        (folder / f"{stem.replace('_', '-')}.py").write_text(text)
    return folder


def faults_of(folder: Path, registry: Registry | None = None) -> tuple[str, ...]:
    """Every fault of a folder."""
    with pytest.raises(ConfigError) as caught:
        load_folder(registry if registry is not None else Registry(), folder)
    return caught.value.faults


def test_a_file_is_a_plugin_named_by_its_stem(tmp_path: Path) -> None:
    """Hyphens are allowed; the module is found under the folder's package."""
    registry = Registry()

    names = load_folder(registry, write(tmp_path, my_plugin=CLASS.format(kind="Mine", name="my-plugin")))

    assert names == registry.names() == ("my-plugin",)
    built = registry.build_plugin(PluginOption(plugin="my-plugin", instance="my-plugin", flags=FLAGS))
    assert type(built).__module__ == "pyroclast_plugins.my-plugin"
    assert type(built) is sys.modules["pyroclast_plugins.my-plugin"].Mine


@pytest.mark.parametrize("new", ["new", "New"])
def test_a_builder_is_taken_as_in_the_guide(tmp_path: Path, new: str) -> None:
    """`new(arguments)`, or the exported `New`, gets the raw mapping."""
    registry = Registry()
    load_folder(registry, write(tmp_path, guided=NEW.format(name="guided", new=new)))

    option = PluginOption(plugin="guided", instance="guided", flags=FLAGS, arguments={"weight": "5"})

    assert registry.build_plugin(option).arguments == {"weight": "5"}


def test_dataclasses_work_in_files(tmp_path: Path) -> None:
    """Typed arguments, also with postponed annotations."""
    text = """
from __future__ import annotations
from dataclasses import dataclass
from pyroclast import Plugin

@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    prefer_weight: float = 10.0

@dataclass(frozen=True)
class Typed(Plugin):
    args: Args
    name = "typed"

    def on_session_open(self, session):
        pass
"""
    registry = Registry()
    load_folder(registry, write(tmp_path, typed=text))

    option = PluginOption(plugin="typed", instance="typed", flags=FLAGS, arguments={"prefer-weight": "2"})

    built: Any = registry.build_plugin(option)
    assert built.args.prefer_weight == 2.0


def test_hidden_and_private_files_are_left_alone(tmp_path: Path) -> None:
    """A mounted ConfigMap has hidden ones; helpers start with an underscore."""
    (tmp_path / "_helper.py").write_text("raise RuntimeError")
    (tmp_path / ".hidden.py").write_text("raise RuntimeError")
    (tmp_path / "notes.txt").write_text("no Python")

    assert load_folder(Registry(), tmp_path) == ()


def test_all_faults_are_reported_at_once_and_the_rest_is_registered(tmp_path: Path) -> None:
    """A broken file is named with its line."""
    registry = Registry()
    registry.register_plugin("taken", lambda arguments: arguments)
    write(
        tmp_path,
        a_syntax="x = 1\ndef broken(:\n    pass\n",
        b_raises="x = 1\n\nraise RuntimeError('no licence')\n",
        c_exits="import sys\nsys.exit(3)\n",
        d_imports="import nowhere_to_be_found\n",
        e_name=CLASS.format(kind="Other", name="other"),
        f_name=NEW.format(name="other", new="new"),
        g_empty="x = 1\n",
        h_two=CLASS.format(kind="A", name="a") + CLASS.format(kind="B", name="b"),
        i_new="def new(arguments):\n    return arguments['weight']\n",
        j_none="def new(arguments):\n    return None\n",
        k_good=CLASS.format(kind="Good", name="k-good"),
        taken=CLASS.format(kind="Taken", name="taken"),
    )

    faults = faults_of(tmp_path, registry)

    expected = [
        "a-syntax.py:2: SyntaxError: ",
        "b-raises.py:3: RuntimeError: no licence",
        "c-exits.py:2: SystemExit: 3",
        "d-imports.py:1: ModuleNotFoundError: No module named 'nowhere_to_be_found'",
        "e-name.py: it calls itself 'other'",
        "f-name.py: the plugin calls itself 'other', it is loaded as 'f-name'",
        f"g-empty.py: {EXPECTED}, found neither",
        f"h-two.py: {EXPECTED}, found A, B",
        "i-new.py:2: new({}) failed: KeyError: 'weight'",
        "j-none.py: new(arguments) made a NoneType, which does not inherit from pyroclast.Plugin",
        "taken.py: the name is taken by the one from built in",
    ]
    assert len(faults) == len(expected)
    for fault, part in zip(faults, expected, strict=True):
        assert part in fault
    assert registry.names() == ("k-good", "taken")


def test_a_folder_may_be_named_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of a fault is the same for a folder named from the root."""
    write(tmp_path, a_syntax="x = 1\ndef broken(:\n", b_raises="x = 1\n\nraise RuntimeError('no licence')\n")
    monkeypatch.chdir(tmp_path.parent)

    syntax, raises = faults_of(Path(tmp_path.name))

    assert "a-syntax.py:2: SyntaxError: " in syntax
    assert "b-raises.py:3: RuntimeError: no licence" in raises


def test_a_broken_file_leaves_no_module_behind(tmp_path: Path) -> None:
    """Half a module is worse than none."""
    faults_of(write(tmp_path, broken="raise RuntimeError"))

    assert "pyroclast_plugins.broken" not in sys.modules


def test_a_builder_may_demand_arguments(tmp_path: Path) -> None:
    """It says so with a ConfigError, then its name is compared when it is made for a configuration."""
    text = """
from pyroclast.model.errors import ConfigError

def new(arguments):
    raise ConfigError("weight is missing")
"""
    registry = Registry()

    assert load_folder(registry, write(tmp_path, demanding=text)) == ("demanding",)


def test_a_missing_folder_is_a_fault(tmp_path: Path) -> None:
    """Plugins that were asked for are not silently left out."""
    assert faults_of(tmp_path / "nowhere") == (f"{tmp_path / 'nowhere'}: the folder of plugins is not there",)


@pytest.mark.parametrize("new", ["new", "New"])
def test_an_entry_point_may_lead_to_a_module(new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `new` is the builder, as in the guide."""
    (tmp_path / f"some_builders_{new}.py").write_text(NEW.format(name="one", new=new))
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry()

    load_entry_points(registry, [EntryPoint("one", f"some_builders_{new}", GROUP)])

    assert registry.names() == ("one",)


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("json:nothing", "entry point json:nothing: AttributeError"),
        ("json:__name__", "entry point json:__name__: str is no builder"),
        (
            "json",
            "entry point json: expected new(arguments) or one class that inherits from pyroclast.Plugin, found neither",
        ),
    ],
)
def test_an_entry_point_that_leads_to_no_builder_is_a_fault(target: str, fault: str) -> None:
    """It names the target and what went wrong."""
    with pytest.raises(ConfigError) as caught:
        load_entry_points(Registry(), [EntryPoint("x", target, GROUP)])

    assert str(caught.value).startswith(fault)


def test_installed_distributions_offer_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry points by name; a broken one is reported, the rest is registered."""
    (tmp_path / "some_distribution.py").write_text(CLASS.format(kind="One", name="one"))
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry()

    with pytest.raises(ConfigError) as caught:
        load_entry_points(
            registry,
            [
                EntryPoint("one", "some_distribution:One", GROUP),
                EntryPoint("two", "some_distribution:One", GROUP),
                EntryPoint("bad", "nowhere_to_be_found:X", GROUP),
            ],
        )

    assert caught.value.faults == (
        "entry point nowhere_to_be_found:X: ModuleNotFoundError: No module named 'nowhere_to_be_found'",
        "plugin 'two' from entry point some_distribution:One: it calls itself 'one'",
    )
    assert registry.names() == ("one",)
