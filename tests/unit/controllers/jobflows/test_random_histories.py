"""Flows live through chance: Jobs end, are cleared away or deleted, stores lag, the controller is killed anywhere."""

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from pyroclast.controllers.jobflows.reconciler import JobFlows
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.resources import JOB_FLOWS, JOB_TEMPLATES, JOBS
from tests.unit.controllers.smallworld import Life, SmallWorld, rest

KEY = ("team", "etl")
NAMES = "abcd"


def build(life: Life) -> JobFlows:
    """Plug the controller in."""
    return JobFlows(life, ControllerOptions())  # type: ignore[arg-type]  # has what it asks for


def begun(flows: dict[str, list[str]], chance: random.Random) -> SmallWorld:
    """Make a world with a flow and its templates."""
    world = SmallWorld((JOB_FLOWS, JOB_TEMPLATES, JOBS), chance=chance)
    listed = [{"name": name, "dependsOn": {"targets": targets}} for name, targets in flows.items()]
    world.put("jobflows", {"metadata": {"name": "etl", "namespace": "team"}, "spec": {"flows": listed}})
    for name in flows:
        world.put("jobtemplates", {"metadata": {"name": name, "namespace": "team"}})
    return world


@st.composite
def acyclic(draw: st.DrawFn) -> dict[str, list[str]]:
    """Draw flows that wait for earlier ones."""
    count = draw(st.integers(1, len(NAMES)))
    return {
        name: draw(st.lists(st.sampled_from(NAMES[:n]), unique=True)) if n else []
        for n, name in enumerate(NAMES[:count])
    }


@given(flows=acyclic(), seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_every_job_completes_once_after_those_it_waits_for(flows: dict[str, list[str]], seed: int) -> None:
    """However the controller dies and whatever is cleared away after it was seen, the flow succeeds."""
    chance = random.Random(seed)
    world = begun(flows, chance)
    completed: Counter[str] = Counter()
    for _ in range(100):
        rest(world, build, KEY)
        jobs = world.kinds["jobs"].objects
        status = world.kinds["jobflows"].objects[KEY].get("status", {})
        if status.get("state", {}).get("phase") == "Succeed":
            break
        for at in chance.sample(sorted(jobs), min(2, len(jobs))):
            phase = jobs[at].get("status", {}).get("state", {}).get("phase", "")
            if phase == "Completed":
                world.remove("jobs", at)  # its time to live is over
            elif chance.random() < 0.4:
                world.status("jobs", at, {"state": {"phase": "Running"}})
            elif chance.random() < 0.2:
                world.remove("jobs", at)  # somebody's mistake
            else:
                world.status("jobs", at, {"state": {"phase": "Completed"}})
                name = at[1].removeprefix("etl-")
                completed[name] += 1
                assert all(completed[target] for target in flows[name])

    assert completed == dict.fromkeys(flows, 1)


@given(flows=acyclic(), seed=st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_a_failure_ends_the_flow(flows: dict[str, list[str]], seed: int) -> None:
    """Nothing that waits for the failed Job is made, and the end is final."""
    chance = random.Random(seed)
    world = begun(flows, chance)
    rest(world, build, KEY)
    failed = chance.choice(sorted(world.kinds["jobs"].objects))
    world.status("jobs", failed, {"state": {"phase": "Failed"}})
    rest(world, build, KEY)
    made = list(world.made)
    for at in sorted(world.kinds["jobs"].objects):
        world.status("jobs", at, {"state": {"phase": "Completed"}})
    rest(world, build, KEY)

    assert world.kinds["jobflows"].objects[KEY]["status"]["state"]["phase"] == "Failed"
    assert world.made == made
