"""Deferred statements: a job may defer twice, and nothing of it is lost."""

from pyroclast.model.ids import JobId
from pyroclast.model.plan import Plan
from pyroclast.testing import Scenario, open_session


def test_what_was_deferred_first_is_committed_with_the_rest() -> None:
    """As when promised places are taken before allocate places further tasks of the same gang."""
    scenario = Scenario().node("n1", cpu=4).job("g", tasks=2, min_available=1)
    plans: list[Plan] = []
    session = open_session(scenario, plugins=("gang", "predicates"), committed=plans.append)
    job = session.jobs.get(JobId("default/g"))
    assert job is not None
    first, second = session.jobs.pending_tasks(job)
    for task in (first, second):
        statement = session.statement()
        statement.allocate(job, [task], [0])
        session.deferred.add(job, statement)
    taken = session.deferred.take(job)
    assert taken is not None
    taken.commit()

    assert [bind.name for plan in plans for bind in plan.binds] == ["g-0", "g-1"]
