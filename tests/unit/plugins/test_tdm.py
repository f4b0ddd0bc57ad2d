"""Tdm: revocable nodes by the clock."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin
from pyroclast.framework.session.session import Session
from pyroclast.plugins.tdm.budgets import most_evictions
from pyroclast.plugins.tdm.plugin import MOST_NAMED, TdmArgs
from pyroclast.plugins.tdm.windows import parse_window
from pyroclast.testing import Outcome, Scenario

ROOT = Path(__file__).parents[3]
NIGHT = {"tdm.revocable-zone.rz1": "22:00-6:00"}
MAY_USE = {"volcano.sh/revocable-zone": "*"}
PLUGINS = ("gang", "predicates", "tdm")


def at(hour: int, minute: int = 0) -> float:
    """A moment of a day long after all objects were made."""
    return datetime(2030, 5, 1, hour, minute, tzinfo=UTC).timestamp()


def decide(scenario: Scenario, *actions: str, hour: int = 23, arguments: Any = None) -> Outcome:
    """Run one cycle at an hour."""
    return scenario.run(*actions, plugins=PLUGINS, now=at(hour), arguments={"tdm": arguments or NIGHT})


def two_nodes() -> Scenario:
    """One node that stays, one that can be taken back."""
    return Scenario().node("stays", cpu=1).node("night", cpu=1, labels={"volcano.sh/revocable-zone": "rz1"})


@pytest.mark.parametrize(
    ("text", "seconds"), [("0:00-23:59", (0, 86340)), ("1:00-0:00", (3600, 0)), (" 23:59-23:59 ", (86340, 86340))]
)
def test_windows_that_read(text: str, seconds: tuple[int, int]) -> None:
    """One digit of an hour is enough, spaces around do not matter."""
    window = parse_window(text)

    assert (window.begin, window.end) == seconds


@pytest.mark.parametrize("value", ["00:00_01:00", "0:00", "1:0-0:0", "63:59-23:59", "1:60-2:00", 5, None])
def test_windows_that_do_not(value: object) -> None:
    """They are reported."""
    with pytest.raises(ValueError, match="window"):
        parse_window(value)


@pytest.mark.parametrize(
    ("text", "hour", "minute", "is_open"),
    [
        ("8:00-9:30", 8, 0, True),
        ("8:00-9:30", 9, 30, True),
        ("8:00-9:30", 9, 31, False),
        ("22:00-6:00", 23, 0, True),
        ("22:00-6:00", 3, 0, True),
        ("22:00-6:00", 12, 0, False),
        ("0:00-0:00", 13, 0, True),
    ],
)
def test_when_a_window_is_open(text: str, hour: int, minute: int, is_open: bool) -> None:
    """Both ends included, over midnight too."""
    assert parse_window(text).is_open(at(hour, minute), UTC) is is_open


@pytest.mark.parametrize(
    ("annotations", "most"),
    [
        ({"volcano.sh/jdb-max-unavailable": "30%"}, 2),
        ({"volcano.sh/jdb-max-unavailable": "99%"}, 5),
        ({"volcano.sh/jdb-max-unavailable": "50%"}, 3),
        ({"volcano.sh/jdb-min-available": "3"}, 2),
        ({"volcano.sh/jdb-min-available": "30%"}, 3),
        ({"volcano.sh/jdb-max-unavailable": "3"}, 3),
        ({"volcano.sh/jdb-min-available": "9"}, 1),
        ({"volcano.sh/jdb-max-unavailable": "many"}, 1),
        ({}, 1),
    ],
)
def test_budgets_of_five_running_tasks(annotations: dict[str, str], most: int) -> None:
    """Percents are rounded up; the default is one."""
    assert most_evictions(annotations, running=5, ended=0, tasks=5) == most


def test_what_is_unavailable_already_counts() -> None:
    """One of five waits and one has ended: two of three that may be missing are left."""
    assert most_evictions({"volcano.sh/jdb-max-unavailable": "3"}, running=3, ended=1, tasks=5) == 2


def test_revocable_pods_prefer_revocable_nodes() -> None:
    """While the window is open."""
    assert decide(two_nodes().job("a", annotations=MAY_USE), "allocate").bindings == {"a-0": "night"}


def test_outside_the_window_the_node_is_closed() -> None:
    """The one that stays gets it, and a second task has the reason why it waits."""
    outcome = decide(two_nodes().job("a", tasks=2, min_available=1, annotations=MAY_USE), "allocate", hour=12)

    assert outcome.bindings == {"a-0": "stays"}
    assert "current time beyond revocable zone rz1:22:00-6:00" in outcome.why_pod("a-1")


def test_others_stay_away() -> None:
    """A task that did not ask for it does not get it, open or not."""
    outcome = decide(two_nodes().job("a", tasks=2, min_available=1), "allocate")

    assert outcome.bindings == {"a-0": "stays"}
    assert "not allow to dispatch to revocable node" in outcome.why_pod("a-1")


def test_a_zone_without_window_is_closed() -> None:
    """Its name is reported."""
    scenario = Scenario().node("n", labels={"volcano.sh/revocable-zone": "rz2"}).job("a", annotations=MAY_USE)

    assert "revocable zone rz2 not support" in decide(scenario, "allocate").why_pod("a-0")


def test_pods_that_differ_only_in_this_are_distinguished() -> None:
    """Equal specifications, different annotations."""
    scenario = two_nodes().job("plain").job("roaming", annotations=MAY_USE)

    assert decide(scenario, "allocate").bindings == {"plain-0": "stays", "roaming-0": "night"}


@pytest.mark.parametrize(("hour", "evicted"), [(23, []), (12, ["a-4", "a-3", "a-2"])])
def test_when_the_window_closes_tasks_leave(hour: int, evicted: list[str]) -> None:
    """As many as the budget allows, the last ones first."""
    scenario = Scenario().node("night", cpu=5, labels={"volcano.sh/revocable-zone": "rz1"})
    annotations = {"volcano.sh/preemptable": "true", "volcano.sh/jdb-max-unavailable": "50%"}
    scenario = scenario.running("a", on=["night"] * 5, annotations=annotations)

    assert decide(scenario, "shuffle", hour=hour).evictions == evicted


def test_a_budget_is_of_the_job_over_all_zones() -> None:
    """One task of a job that runs in two closed zones is evicted, not one of each."""
    scenario = Scenario()
    for zone in ("rz1", "rz2"):
        scenario = scenario.node(zone, cpu=2, labels={"volcano.sh/revocable-zone": zone})
    scenario = scenario.running("a", on=["rz1", "rz2"], annotations={"volcano.sh/preemptable": "true"})
    windows = {**NIGHT, "tdm.revocable-zone.rz2": "22:00-6:00"}

    assert decide(scenario, "shuffle", hour=12, arguments=windows).evictions == ["a-1"]


def test_victims_are_looked_for_once_in_a_period() -> None:
    """One of three goes in each of the cycles that are a period apart; cycles are a second apart."""
    scenario = Scenario().node("night", cpu=5, labels={"volcano.sh/revocable-zone": "rz1"})
    scenario = scenario.running("a", on=["night"] * 3, annotations={"volcano.sh/preemptable": "true"})
    arguments = {"tdm": {**NIGHT, "tdm.evict.period": "2s"}}

    outcome = scenario.run("shuffle", plugins=PLUGINS, now=at(12), arguments=arguments, cycles=4)

    assert outcome.evictions == ["a-2", "a-1"]


def test_a_task_that_is_not_preemptable_may_preempt() -> None:
    """A task that must stay takes the place of one that may roam, on a node that stays."""
    scenario = (
        Scenario().node("stays", cpu=1).running("a", on=["stays"], annotations={"volcano.sh/preemptable": "true"})
    )
    scenario = scenario.job("b", phase="Inqueue", annotations={"volcano.sh/preemptable": "false"})

    assert scenario.run("preempt", plugins=("tdm", "predicates"), now=at(23), arguments={"tdm": NIGHT}).evictions == [
        "a-0"
    ]


@pytest.mark.parametrize(("unavailable", "evicted"), [("1", []), ("2", ["a-1", "a-0"])])
def test_a_gang_goes_whole_only_where_its_budget_lets_all_of_it_go(unavailable: str, evicted: list[str]) -> None:
    """Two are evicted, or none: each alone would be within a budget of one."""
    annotations = {"volcano.sh/preemptable": "true", "volcano.sh/jdb-max-unavailable": unavailable}
    scenario = Scenario().node("stays", cpu=2).running("a", on=["stays"] * 2, min_available=2, annotations=annotations)
    scenario = scenario.priority_class("high", 9)
    scenario = scenario.job(
        "b", phase="Inqueue", priority_class="high", annotations={"volcano.sh/preemptable": "false"}
    )

    outcome = scenario.run("preempt", plugins=(("tdm",), ("gang", "predicates")), now=at(23), arguments={"tdm": NIGHT})

    assert outcome.evictions == evicted


def test_budgets_of_which_both_are_given() -> None:
    """The least available counts, also where it leaves the default."""
    both = {"volcano.sh/jdb-min-available": "4", "volcano.sh/jdb-max-unavailable": "3"}

    assert most_evictions(both, running=5, ended=0, tasks=5) == 1
    assert most_evictions({**both, "volcano.sh/jdb-min-available": "9"}, running=5, ended=0, tasks=5) == 1


@pytest.mark.parametrize(
    ("text", "seconds"), [("1:00-2:00", 3600), ("0:00-23:59", 86340), ("1:00-0:00", 82800), ("23:59-23:59", 86400)]
)
def test_how_long_a_window_lasts(text: str, seconds: int) -> None:
    """One that ends when it begins lasts a day."""
    window = parse_window(text)

    assert ((window.end - window.begin) % 86400 or 86400) == seconds


@pytest.mark.parametrize("name", ["Mars/Base", "", "../x", "Europe", 5])
def test_unknown_time_zones_are_reported(name: object) -> None:
    """UTC holds instead."""
    args, warnings = decode(TdmArgs, {"tdm.timezone": name}, "arguments")

    assert (args.zone, len(warnings)) == (UTC, 1)
    assert warnings[0].endswith("the default UTC is kept")


@pytest.mark.parametrize("count", [MOST_NAMED, MOST_NAMED + 1, 255, 256, 300])
@pytest.mark.parametrize(("hour", "annotations"), [(12, MAY_USE), (23, {})])
def test_however_many_zones_none_takes_what_it_must_not(count: int, hour: int, annotations: dict[str, str]) -> None:
    """Closed to all, and open to those alone that asked."""
    scenario = Scenario().job("a", annotations=annotations)
    for zone in range(count):
        scenario = scenario.node(f"n{zone}", cpu=1, labels={"volcano.sh/revocable-zone": f"z{zone}"})
    windows = {f"tdm.revocable-zone.z{zone}": "22:00-6:00" for zone in range(count)}

    assert decide(scenario, "allocate", hour=hour, arguments=windows).bindings == {}


def test_a_search_that_was_not_made_does_not_count() -> None:
    """An earlier tier chooses the victims of shuffle, so tdm is not asked; it is in the next cycle of its period."""

    class First(Plugin):
        """Names a victim in the first cycle."""

        name = "first"
        watches_clock = False

        def on_session_open(self, session: Session) -> None:
            """Register."""
            named = session.cycle == 1
            session.extensions.register(contract.VICTIM_TASKS, self.name, lambda tasks: tasks[-1:] if named else [])

    scenario = two_nodes().running("other", on=["stays"], cpu=1, annotations=MAY_USE)
    scenario = scenario.running("late", on=["night"], cpu=1, annotations=MAY_USE)
    outcome = scenario.run(
        "shuffle",
        plugins=(("gang", First), ("predicates", "tdm")),
        now=at(12),
        arguments={"tdm": NIGHT},
        cycles=2,
    )

    assert outcome.evictions == ["other-0", "late-0"]


def test_time_zones_need_no_data_of_the_system() -> None:
    """Small images leave it out; a process that finds none reads the package's."""
    told = subprocess.run(
        [sys.executable, "-c", "from pyroclast.plugins.tdm.plugin import _zone; print(_zone('Europe/Berlin'))"],
        env={"PYTHONTZPATH": "", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert told.stdout == "Europe/Berlin\n"
