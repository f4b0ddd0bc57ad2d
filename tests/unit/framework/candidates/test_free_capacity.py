"""Whether there is room at all is known before a template's candidates are made, and follows what is placed."""

from pyroclast.testing import Scenario, open_session


def test_room_follows_placements() -> None:
    """Room that is taken is no room, and is room again when the placement is undone."""
    session = open_session(Scenario().node("n", cpu=2).job("a", cpu=2).job("b", cpu=2), plugins=("predicates",))
    first, second = session.jobs.all()
    task, other = (next(iter(job.tasks.values())) for job in (first, second))
    assert session.candidates.has_room(other)

    with session.statement() as statement:
        assert statement.allocate(first, [task], [0]) is None
        assert not session.candidates.has_room(other)

    assert session.candidates.has_room(other)


def test_room_that_is_being_released_counts() -> None:
    """A task may wait for it."""
    scenario = Scenario().node("n", cpu=2).running("old", on=["n"], cpu=2).job("new", cpu=2)
    leaving = dict(scenario.objects[2])
    leaving["metadata"] = {**leaving["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    objects = (*scenario.objects[:2], leaving, *scenario.objects[3:])
    session = open_session(Scenario(objects=objects), plugins=("predicates",))
    task = next(iter(next(job for job in session.jobs.all() if job.job.name == "new").tasks.values()))

    assert session.candidates.has_room(task)


def test_explanations_follow_placements() -> None:
    """Equal tasks have the same reason until something changes."""
    scenario = Scenario().node("n1", cpu=2).node("n2", cpu=2, unschedulable=True).job("small", cpu=1).job("a", cpu=2)
    session = open_session(scenario, plugins=("predicates",))
    small, big = sorted(session.jobs.all(), key=lambda job: job.job.name, reverse=True)
    task, other = (next(iter(job.tasks.values())) for job in (small, big))
    before = session.candidates.explain(other)

    assert session.candidates.explain(other) is before
    assert session.statement().allocate(small, [task], [0]) is None
    assert session.candidates.explain(other).counts == {"Insufficient cpu": 1, "node(s) were unschedulable": 1}
