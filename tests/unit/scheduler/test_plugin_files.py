"""Plugin files are read again when they change, as the configuration file is; the last good ones stay in force."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pyroclast.framework.configuration import FLAGS, PluginOption
from pyroclast.framework.extension.registry import DEFAULT
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.daemon.plugin_files import PluginFiles
from pyroclast.scheduler.daemon.settings import Settings
from pyroclast.scheduler.monitoring.metrics import Metrics

PLUGIN = """
from dataclasses import dataclass

from pyroclast import Plugin


@dataclass(frozen=True, kw_only=True)
class Arguments:
    {argument}: int = 1


class Own(Plugin):
    name = "own"
    arguments = Arguments
    says = {says!r}

    def __init__(self, args):
        self.args = args

    def on_session_open(self, session):
        pass
"""
ONE, TWO = PLUGIN.format(argument="weight", says="one"), PLUGIN.format(argument="weight", says="two")
CONFIGURATION = "actions: allocate\ntiers:\n- plugins:\n  - name: own\n    arguments: {weight: 2}\n"


def as_written(built: Any) -> Any:
    """Return a plugin or action, whose own attributes its file alone declares."""
    return built


@pytest.fixture(autouse=True)
def _modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let them be compiled as outside the image, where the last ones are in the way; leave none behind."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


class Ground:
    """A folder of plugins with one file, a configuration that names it, and who has read both."""

    def __init__(self, folder: Path) -> None:
        """Write and read both."""
        self.plugins, self.file = folder / "plugins", folder / "scheduler.yaml"
        self.plugins.mkdir()
        self.plugin = self.plugins / "own.py"
        self.plugin.write_text(ONE)
        self.file.write_text(CONFIGURATION)
        self.metrics, self.told = Metrics(), list[Sequence[str]]()
        self.settings = Settings(
            str(self.file),
            PluginFiles(str(self.plugins)),
            self.metrics,
            scheduler_names=("volcano",),
            refused=self.told.append,
        )

    def says(self) -> str:
        """What the plugin of the next cycle says."""
        (option,) = self.settings.current().profiles[0].plugins
        said: str = as_written(self.settings.registry.build_plugin(option)).says
        return said

    def generation(self) -> int:
        """That of the next cycle's configuration."""
        return self.settings.current().generation

    def is_good(self) -> bool:
        """Whether metrics say that what stands in the files is in force."""
        return self.metrics.value("pyroclast_configuration_reload_ok") == 1


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """A sound one."""
    return Ground(tmp_path)


def test_a_changed_file_is_in_force_in_the_next_cycle(ground: Ground) -> None:
    """Also where it has the length and time of the one before; a generation of its own has cycles look again."""
    before = ground.plugin.stat()
    ground.plugin.write_text(TWO)
    os.utime(ground.plugin, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert ground.plugin.stat().st_size == before.st_size
    assert (ground.says(), ground.generation()) == ("two", 2)
    assert ground.generation() == 2


def test_a_broken_file_keeps_the_last_good_one_and_is_reported_once(ground: Ground) -> None:
    """Reported by file and line, as a fault of the configuration is; corrected, all is well."""
    ground.plugin.write_text(f"{TWO}\nimport nothing_of_this_name\n")

    assert (ground.says(), ground.generation()) == ("one", 1)
    assert not ground.is_good()
    ((fault,),) = ground.told
    assert fault.startswith(f"{ground.plugin}:")
    assert "nothing_of_this_name" in fault

    ground.plugin.write_text(TWO)
    assert (ground.says(), ground.generation()) == ("two", 2)
    assert ground.is_good()


def test_a_file_put_back_is_what_is_in_force(ground: Ground) -> None:
    """An edit undone is no change."""
    ground.plugin.write_text("syntax error")
    ground.generation()
    ground.plugin.write_text(ONE)

    assert (ground.says(), ground.generation()) == ("one", 1)
    assert ground.is_good()


def test_plugin_and_arguments_are_taken_together(ground: Ground) -> None:
    """While the configuration does not fit the new plugin, the old one goes on with the old arguments."""
    strict = Settings(
        str(ground.file),
        PluginFiles(str(ground.plugins)),
        Metrics(),
        scheduler_names=("volcano",),
        strict=True,
    )
    ground.plugin.write_text(PLUGIN.format(argument="height", says="two"))

    assert strict.current().generation == 1
    (option,) = strict.current().profiles[0].plugins
    built: Any = strict.registry.build_plugin(option)
    assert (built.says, built.args.weight) == ("one", 2)
    assert "weight" in strict.faults[0]

    ground.file.write_text(CONFIGURATION.replace("weight", "height"))
    (option,) = strict.current().profiles[0].plugins
    built = strict.registry.build_plugin(option)
    assert (built.says, built.args.height) == ("two", 2)


def test_files_come_and_go(ground: Ground) -> None:
    """A new one can be named; a removed one cannot any more, which is reported as for any unknown name."""
    (ground.plugins / "other.py").write_text(ONE.replace('"own"', '"other"'))
    ground.settings.current()
    assert {"own", "other"} <= set(ground.settings.registry.names())

    ground.plugin.unlink()
    ground.settings.current()
    assert "own" not in ground.settings.registry.names()
    assert ground.generation() == 3


def test_a_mounted_config_map_is_swapped(tmp_path: Path) -> None:
    """The kubelet writes a new folder and swaps the link to it."""
    for name, text in (("..1", ONE), ("..2", TWO)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "own.py").write_text(text)
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "own.py").symlink_to("..data/own.py")
    files = PluginFiles(str(tmp_path))
    option = PluginOption(plugin="own", instance="own", flags=FLAGS)
    assert as_written(files.registry().build_plugin(option)).says == "one"

    (tmp_path / "..data_tmp").symlink_to("..2")
    (tmp_path / "..data_tmp").replace(tmp_path / "..data")

    assert as_written(files.registry().build_plugin(option)).says == "two"


def test_a_folder_that_goes_leaves_the_last_good_plugins(ground: Ground) -> None:
    """A volume that is not mounted any more is a fault, never a set of no plugins."""
    ground.plugins.rename(ground.plugins.with_name("elsewhere"))

    assert ground.says() == "one"
    assert not ground.is_good()
    assert "the folder of plugins is not there" in ground.told[0][0]


def test_the_start_is_refused_with_every_fault(tmp_path: Path) -> None:
    """As ever: nothing is in force that could stay."""
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("(")

    with pytest.raises(ConfigError) as raised:
        PluginFiles(str(tmp_path))

    assert len(raised.value.faults) == 2


ACTION = """
from pyroclast import Action, register_action


class Tidy(Action):
    says = {says!r}

    def execute(self, session):
        pass


register_action("tidy", Tidy)
"""


def test_a_file_may_register_an_action_and_is_taken_again_when_it_changes(tmp_path: Path) -> None:
    """The file is loaded anew into a registry of its own, in which the name is free."""
    file = tmp_path / "tidying.py"
    file.write_text(ACTION.format(says="one"))
    files = PluginFiles(str(tmp_path))
    assert as_written(files.registry().build_action("tidy", {})).says == "one"

    file.write_text(ACTION.format(says="two"))

    assert as_written(files.registry().build_action("tidy", {})).says == "two"
    assert "tidy" not in DEFAULT.action_names()


@pytest.mark.parametrize(
    "text",
    [
        "raise SystemExit(3)\n",
        "raise KeyboardInterrupt\n",
        "def new(arguments):\n    raise SystemExit(3)\n",
        "class Error(Exception):\n    def __str__(self):\n        raise ValueError\n\n\nraise Error\n",
        ONE.replace(
            "    weight: int = 1", "    weight: int = 1\n\n    def __post_init__(self):\n        raise SystemExit(3)"
        ),
    ],
    ids=["exits", "interrupts", "builder exits", "error without text", "arguments exit"],
)
def test_a_file_that_would_end_the_process_is_refused_until_it_is_repaired(ground: Ground, text: str) -> None:
    """While it runs, the last good one stays in force; the repaired file is taken."""
    ground.plugin.write_text(text)
    assert (ground.says(), ground.generation()) == ("one", 1)
    assert not ground.is_good()
    assert len(ground.told) == 1

    ground.plugin.write_text(TWO)
    assert ground.says() == "two"
    assert ground.is_good()
