"""Thirty-three configurations, each on a cluster of its own with jobs that come and end and nodes that are lost.

A short form runs always; PYROCLAST_SOAK=1 (`make soak`) runs all of them for two hundred cycles.
"""

import json
import os
import time
from functools import partial
from pathlib import Path

import pytest

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.diagnosis.lint import Severity, check
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.registry import load_registry
from tests.laws.living.repeating import told
from tests.soak.ground import Ground, standing
from tests.soak.laws import Laws
from tests.soak.workload import Workload

FILES = sorted((Path(__file__).parent / "configurations").glob("*.yaml"))
IS_LONG = os.environ.get("PYROCLAST_SOAK") == "1"
CYCLES = int(os.environ.get("PYROCLAST_SOAK_CYCLES", "200" if IS_LONG else "20"))
CALM_CYCLES = 20
"""Towards the end no pods arrive, so that held capacity is used."""
QUIET_CYCLES = 12
"""Cycles without a decision that make a rest, when nothing ends either: more than a cool-down or a period takes."""
MOST_STILL_CYCLES = 80
"""Within which these must be reached."""
SHORT = ("03", "05", "13", "29", "31", "32", "33")
SEED = int(os.environ.get("PYROCLAST_SOAK_SEED", "20"))


def configuration_of(file: Path) -> Configuration:
    """Read a file as the daemon does."""
    return read_configuration(file.read_text(encoding="utf-8"), load_registry()).configuration


def test_configurations_name_everything_that_is_registered() -> None:
    """No plugin and no action is left out, and none stands proportion beside capacity."""
    registry = load_registry()
    profiles = [configuration_of(file).profiles[0] for file in FILES]
    plugins = [{option.plugin for option in profile.plugins} for profile in profiles]

    assert len(FILES) == 33
    assert set(registry.plugins) - set().union(*plugins) == set()
    assert set(registry.actions) - {action for profile in profiles for action in profile.actions} == set()
    assert not [each for each in plugins if {"proportion", "capacity"} <= each]
    assert all(file.read_text(encoding="utf-8").startswith("# ") for file in FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_in_a_configuration_looks_like_a_mistake(file: Path) -> None:
    """`pyroclast config check` finds no fault and nothing to warn of."""
    findings = check(file.read_text(encoding="utf-8"), partial(read_configuration, registry=load_registry()))

    assert [finding for finding in findings if finding.severity in {Severity.FAULT, Severity.WARNING}] == []


@pytest.mark.parametrize(
    "file", [file for file in FILES if IS_LONG or file.name[:2] in SHORT], ids=lambda file: file.stem
)
async def test_laws_hold_in_every_cycle(file: Path, tmp_path: Path) -> None:
    """With jobs that come and end, nodes that are lost, and every pod that is gone made anew."""
    began, configuration = time.monotonic(), configuration_of(file)
    async with standing(tmp_path, configuration) as ground:
        workload = Workload(ground, configuration.profiles[0], SEED)
        laws = Laws(ground, workload)
        await workload.begin()
        for cycle in range(CYCLES + CALM_CYCLES):
            await workload.step(cycle, is_calm=cycle >= CYCLES)
            laws.look(cycle, await ground.cycle())
            await laws.look_at_books(cycle)
        await come_to_rest(ground, workload, laws)
        laws.look_at_the_end()
    tell(file, laws, workload, time.monotonic() - began)

    assert laws.broken == []
    assert laws.figures.binds > 0


async def come_to_rest(ground: Ground, workload: Workload, laws: Laws) -> None:
    """Run on without arrivals and ends: no later cycle undoes a decision."""
    quiet, begin = 0, CYCLES + CALM_CYCLES
    for cycle in range(begin, begin + MOST_STILL_CYCLES):
        await workload.step(cycle, is_calm=True, is_still=True)
        report = await ground.cycle()
        laws.look(cycle, report)
        quiet = 0 if report.plans else quiet + 1
        if quiet == QUIET_CYCLES:
            return
    laws.broken.append(f"no rest in {MOST_STILL_CYCLES} cycles: {told(report)}")


def tell(file: Path, laws: Laws, workload: Workload, seconds: float) -> None:
    """Print the figures of one configuration, and add them to a file where one is named."""
    figures = laws.figures
    line = {
        "configuration": file.stem,
        "cycles": figures.cycles,
        "binds": figures.binds,
        "evictions": figures.evictions,
        "by_action": dict(figures.by_action),
        "refused_evictions": figures.refused_evictions,
        "jobs_ended": workload.ended,
        "nodes_lost": workload.losses,
        "seconds": round(seconds, 1),
        "broken": len(laws.broken),
        "first_broken": [each[:300] for each in laws.broken[:5]],
    }
    print(json.dumps(line))  # noqa: T201 - shown by `make soak`
    if target := os.environ.get("PYROCLAST_SOAK_REPORT"):
        with Path(target).open("a", encoding="utf-8") as report:
            report.write(json.dumps(line) + "\n")
