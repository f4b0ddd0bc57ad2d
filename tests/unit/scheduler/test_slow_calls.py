"""Slow calls: the innermost plugin on the stack of the cycle's thread is named while its call goes on."""

import sys
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pyroclast.framework.cycle import run_cycle
from pyroclast.scheduler.daemon.plugin_files import PluginFiles
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.monitoring.slow_calls import SlowCall, SlowCalls
from pyroclast.scheduler.registry import load_registry
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of

PLUGIN = """
from pyroclast import Plugin, contract


def look(times):
    return look(times - 1) if times else LOOK()


class Slow(Plugin):
    name = "slow"

    def on_session_open(self, session):
        session.extensions.register(contract.PREDICATE, self.name, self.permit)

    def permit(self, task, node):
        for times in range(3):
            look(times)


LOOK = None
"""
CLUSTER = Scenario().node("n1").node("n2").job("a")


@pytest.fixture(autouse=True)
def _modules() -> Iterator[None]:
    """Leave no module behind."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        sys.modules.pop(name, None)


def seen(folder: Path, look: Callable[[FrameType, Any], None]) -> None:
    """Run a cycle with a plugin that looks at its own stack three times in one call, by helpers of its own."""
    (folder / "slow.py").write_text(PLUGIN)
    registry = PluginFiles(str(folder)).registry()
    sys.modules["pyroclast_plugins.slow"].LOOK = lambda: look(sys._getframe(), registry)  # type: ignore[attr-defined]  # of the file
    text = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n  - name: slow\n"
    configuration = read_configuration(text, registry).configuration
    snapshot = cluster_of(CLUSTER.objects, shard_mode="none", shard="", warnings=[]).snapshot()
    report, _ = run_cycle(snapshot, configuration, registry=registry, now=2e9)
    assert report.failures == {}


def test_a_slow_call_is_reported_once(tmp_path: Path) -> None:
    """One call of the framework is one call, however often the plugin calls its own functions in it."""
    calls, told = SlowCalls(1.0), list[SlowCall | None]()
    moments = chain([10.0, 10.9, 11.5], repeat(20.0))

    seen(tmp_path, lambda frame, registry: told.append(calls.look(frame, registry, next(moments))))

    assert [each and (each.plugin, round(each.seconds, 1), each.is_news) for each in told[:3]] == [
        None,
        None,
        ("slow", 1.5, True),
    ]
    assert told[2] is not None
    assert told[2].where.startswith(str(tmp_path / "slow.py") + ":")


def test_a_call_beyond_the_deadline_is_reported_as_hanging_once_more(tmp_path: Path) -> None:
    """First it is slow, then it hangs."""
    calls, told = SlowCalls(1.0, 30.0), list[SlowCall | None]()
    moments = chain([10.0, 12.0, 41.0], repeat(50.0))

    seen(tmp_path, lambda frame, registry: told.append(calls.look(frame, registry, next(moments))))

    assert [each and (each.hangs, each.is_news) for each in told[:3]] == [None, (False, True), (True, True)]


def test_the_next_call_begins_anew(tmp_path: Path) -> None:
    """What came before another call does not count."""
    calls, told = SlowCalls(1.0), list[SlowCall | None]()

    seen(tmp_path, lambda frame, registry: told.append(calls.look(frame, registry, 10.0 + 5.0 * (len(told) // 3))))

    assert told
    assert not any(told)


def test_nothing_is_named_outside_of_plugins(tmp_path: Path) -> None:
    """Neither a thread that does nothing yet, nor one in code of ours."""
    registry = PluginFiles(str(tmp_path)).registry()
    calls = SlowCalls(0.0)

    assert calls.look(None, registry, 1.0) is None
    assert calls.look(sys._getframe(), registry, 2.0) is None


@pytest.mark.parametrize("plugin", ["binpack", "capacity"])
def test_a_built_in_plugin_is_reported_by_its_own_name(plugin: str) -> None:
    """The modules of the framework and of all built-in plugins have the first part of their names in common."""
    calls, registry = SlowCalls(0.0), load_registry()
    framework, own = caller_in("pyroclast.framework.cycle"), caller_in(f"pyroclast.plugins.{plugin}.formula")

    assert framework(lambda: calls.look(sys._getframe(), registry, 1.0)) is None
    slow = framework(lambda: own(lambda: calls.look(sys._getframe(), registry, 1.0)))

    assert slow is not None
    assert slow.plugin == plugin


def caller_in(module: str) -> Callable[[Callable[[], SlowCall | None]], SlowCall | None]:
    """Return a function of a module of this name that calls its argument."""
    namespace: dict[str, Any] = {"__name__": module}
    exec("def call(inner): return inner()", namespace)
    function: Callable[[Callable[[], SlowCall | None]], SlowCall | None] = namespace["call"]
    return function
