"""An eviction that is undone leaves its victim as it was, whatever it was."""

import pytest

from pyroclast.model.tasks import TaskStatus
from pyroclast.testing import Scenario
from tests.unit.framework.asking import job_of, session_of, tasks_of


@pytest.mark.parametrize(("phase", "status"), [("Pending", TaskStatus.BOUND), ("Running", TaskStatus.RUNNING)])
def test_a_bound_pod_is_bound_again(phase: str, status: TaskStatus) -> None:
    """It has a node and did not run yet, which being spared does not change."""
    session = session_of(Scenario().node("n").job("a", tasks=0).pod("p", job="a", node="n", phase=phase))
    (task,) = tasks_of(session)
    assert task.status is status

    with session.statement() as statement:
        assert statement.evict(job_of(session), task, "preempt") is None
        assert [each.status for each in tasks_of(session)] == [TaskStatus.RELEASING]

    assert tasks_of(session) == [task]
