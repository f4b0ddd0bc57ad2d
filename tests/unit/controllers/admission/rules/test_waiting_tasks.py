"""Gangs whose tasks wait for each other: users get a warning if they never start, which the scheduler confirms."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyroclast.controllers.admission.rules.jobs import warnings_of
from pyroclast.controllers.admission.rules.waiting_tasks import waiting_warnings
from pyroclast.model.api.batch import Job
from pyroclast.testing import Scenario
from tests.unit.controllers.admission.objects import Json, job, task
from tests.unit.controllers.jobs.world import World


def after(*names: str, **iteration: str) -> Json:
    """What a task waits for."""
    return {"dependsOn": {"name": list(names), **iteration}}


MASTER, WORKER = task("master", 1, minAvailable=1), task("worker", 2, minAvailable=2, **after("master"))


@pytest.mark.parametrize(
    ("value", "most"),
    [
        (job(MASTER, WORKER, minAvailable=3), 1),
        (job(MASTER, WORKER, minAvailable=1), None),
        (job(MASTER, task("worker", 2, minAvailable=0, **after("master")), minAvailable=2), 1),
        (
            job(
                task("master", 4, minAvailable=1), task("worker", 2, minAvailable=1, **after("master")), minAvailable=2
            ),
            1,
        ),
        (job(task("a", 1), task("b", 1, minAvailable=0), task("c", 1, **after("a", "b", iteration="any"))), None),
        (job(MASTER, task("worker", 2), minAvailable=3), None),
    ],
)
def test_a_gang_that_can_never_start_is_reported(value: Json, most: int | None) -> None:
    """Waiting pods do not count for the gang's minimum; the message has the largest possible one."""
    told = warnings_of(value)

    assert [f"expected at most {most}" in words for words in told] == ([] if most is None else [True])


def test_defaults_count() -> None:
    """The sum of all replicas is the minimum of a Job that gives none."""
    value = job(task("master", 1), task("worker", 2, **after("master")))
    value["spec"]["minAvailable"] = 0
    for each in value["spec"]["tasks"]:
        del each["minAvailable"]

    (words,) = warnings_of(value)

    assert "got 3, expected at most 1" in words


@st.composite
def tasks(draw: st.DrawFn) -> list[Json]:
    """Draw tasks that may wait for earlier ones."""
    made: list[Json] = []
    for number in range(draw(st.integers(1, 3))):
        replicas = draw(st.integers(1, 3))
        targets = draw(st.lists(st.sampled_from([each["name"] for each in made]), unique=True)) if made else []
        waits = after(*targets, iteration=draw(st.sampled_from(["any", "all"]))) if targets else {}
        made.append(task(f"t{number}", replicas, minAvailable=draw(st.integers(0, replicas)), **waits))
    return made


@given(tasks=tasks(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_warnings_match_jobs_that_the_scheduler_never_starts(tasks: list[Json], data: st.DataObject) -> None:
    """Pods that the controller creates while none runs, on a node with capacity for all of them."""
    total = sum(each["replicas"] for each in tasks)
    value = job(*tasks, minAvailable=data.draw(st.integers(1, total)))

    assert bool(list(waiting_warnings(msgspec.convert(value, Job).spec))) is not starts(value)


def starts(value: Json) -> bool:
    """Return whether the scheduler binds anything of a Job that begins."""
    world = World()
    world.job("job", *value["spec"]["tasks"], minAvailable=value["spec"]["minAvailable"])
    world.run()
    group: Any = world.group()
    needs = group["spec"]
    scenario = (
        Scenario()
        .node("n1", cpu=100)
        .job("gang", tasks=0, min_available=needs["minMember"], min_by_role=needs["minTaskMember"], phase="Inqueue")
    )
    for name in world.pods():
        scenario = scenario.pod(f"gang-{name}", job="gang", role=name.split("-")[1])
    return bool(scenario.run("allocate", plugins=(("gang", "predicates"),)).bindings)
