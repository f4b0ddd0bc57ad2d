"""Jobs that are alike get one answer: whether they can never run is asked once."""

import random

import numpy as np
import pytest

from pyroclast.framework.queues.never_running import never_running, why_never_run
from pyroclast.testing import Scenario, open_session


@pytest.mark.parametrize("few", [0, 10**9])
def test_answers_are_those_for_each_job_alone(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """Also beside jobs that run, have several templates, or another minimum."""
    monkeypatch.setattr("pyroclast.framework.queues.never_running._FEW", few)
    chance = random.Random(4)
    scenario = Scenario().queue("small", capability={"cpu": 2}).node("n1", cpu=4)
    for number in range(60):
        tasks, queue = chance.randint(1, 2), chance.choice(["default", "small"])
        cpu, minimum = chance.choice([1, 3, 8]), chance.randint(1, 3)
        scenario = scenario.job(f"j{number:02}", tasks=tasks, min_available=minimum, cpu=cpu, queue=queue)
    scenario = scenario.job("runs", tasks=1, min_available=3, cpu=1, running_on=["n1"])
    session = open_session(scenario, plugins=("gang", "predicates", "proportion"))
    table = session.snapshot.job_table

    found = never_running(session, np.ones(table.queue.size, dtype=np.bool_))

    expected = {job.id: bool(why_never_run(session, job)) for job in session.snapshot.jobs.values()}
    assert {job.id: bool(found[job.column]) for job in session.snapshot.jobs.values()} == expected
    assert len(set(expected.values())) == 2
