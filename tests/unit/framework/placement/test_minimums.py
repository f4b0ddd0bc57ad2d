"""Minimums: which tasks make a job ready; a pod is written as its role and its sub-group, `w0`."""

from typing import Any

import pytest

from pyroclast import Session, SessionJob
from pyroclast.framework.placement.minimums import in_front, needed_tasks, steps_to_minimum
from pyroclast.testing import Scenario
from tests.unit.framework.asking import job_of, session_of

ROLES = {"w": "worker", "s": "server", "-": ""}


def opened(pods: str, minimum: int, *, roles: str = "", size: int = 0, parts: int = 0) -> tuple[Session, SessionJob]:
    """Open a session with one job.

    Args:
        pods: The pods, in task order; running ones are in capitals.
        minimum: Minimum of the job.
        roles: Minimums by role, a letter for each task.
        size: Size of sub-groups; 0 for none.
        parts: How many of them must be made up.
    """
    policy = {"name": "part", "matchLabelKeys": ["part"], "subGroupSize": size, "minSubGroups": parts}
    group: dict[str, Any] = {"subGroupPolicy": [policy]} if size else {}
    by_role = {ROLES[letter]: roles.count(letter) for letter in roles}
    scenario = Scenario().node("n", cpu=64)
    scenario = scenario.job("a", tasks=0, min_available=minimum, min_by_role=by_role, group=group, phase="Inqueue")
    for number, letters in enumerate(pods.split()):
        role, part = tuple(letters)
        scenario = scenario.pod(
            f"a-{number}",
            job="a",
            role=ROLES[role.lower()],
            labels={"part": part},
            node="n" if role.isupper() else "",
        )
    session = session_of(scenario, ("gang", "predicates"))
    return session, job_of(session)


def chosen(pods: str, minimum: int, **more: Any) -> str:
    """Return the numbers of the tasks that make a job ready; what comes together stands together."""
    session, job = opened(pods, minimum, **more)
    steps = steps_to_minimum(session, job, session.jobs.pending_tasks(job))
    return " ".join("".join(task.name.removeprefix("a-") for task in step) for _, step in steps)


@pytest.mark.parametrize(
    ("pods", "minimum", "roles", "tasks"),
    [
        ("-0 -0 -0", 2, "", "0 1"),
        ("w0 w0 w0 s0", 2, "ws", "0 3"),
        ("w0 w0 w0 s0", 3, "ws", "0 3 1"),
        ("W0 w0 w0 s0", 2, "ws", "3"),
        ("w0 w0 s0", 2, "wws", "0 1"),
        ("w0 w0", 4, "", "0 1"),
    ],
    ids=["first", "roles", "roles-then-first", "running-count", "roles-beyond-the-minimum", "too-few"],
)
def test_an_undivided_job(pods: str, minimum: int, roles: str, tasks: str) -> None:
    """Members that roles lack, then the first ones; minimums by role that exceed the job's do not count."""
    assert chosen(pods, minimum, roles=roles) == tasks


@pytest.mark.parametrize(
    ("pods", "minimum", "parts", "tasks"),
    [
        ("-0 -1 -2 -3 -0 -1 -2 -3", 4, 2, "04 15"),
        ("-0 -1 -1 -1", 2, 1, "12"),
        ("-1 -0 -0 -1", 2, 1, "12"),
        ("-0 -0 -0 -1 -1", 3, 1, "01 2"),
        ("-0 -0 -0 -1 -1", 4, 1, "01 34"),
        ("-0 -0 -1 -1", 3, 1, "01 23"),
        ("-- -0 -0", 2, 1, "12"),
        ("-0 -0 -1 -1", 2, 0, "01"),
    ],
    ids=[
        "whole-ones",
        "who-can-be-made-up",
        "in-their-order",
        "members-of-those",
        "another-one",
        "more-than-the-minimum",
        "the-rest",
        "of-no-minimum",
    ],
)
def test_sub_groups(pods: str, minimum: int, parts: int, tasks: str) -> None:
    """As many as the policy asks for, each of two; then as few tasks as complete the minimum, and no half sub-group."""
    assert chosen(pods, minimum, size=2, parts=parts) == tasks


@pytest.mark.parametrize(
    ("pods", "minimum", "roles", "parts", "tasks"),
    [
        ("w0 w0 s0 w1 w1 s1", 2, "ws", 1, "02"),
        ("w0 w0 s0 s0 w1 w1", 4, "wwss", 2, "23 45"),
        ("w0 w0 s0", 2, "ws", 0, "02"),
        ("w0 w0 w1 s1", 2, "ws", 1, "01 32"),
        ("w0 w0 s0 w1 s1", 3, "wws", 1, "01 2"),
    ],
    ids=["both", "who-is-not-elsewhere", "no-minimum-of-sub-groups", "another-one-for-a-role", "one-more-of-a-role"],
)
def test_roles_in_sub_groups(pods: str, minimum: int, roles: str, parts: int, tasks: str) -> None:
    """In a sub-group, members that roles lack come first; for what they still lack, others are created."""
    assert chosen(pods, minimum, roles=roles, size=2, parts=parts) == tasks


def test_the_others_come_after_those_needed() -> None:
    """In their order."""
    session, job = opened("w0 w0 w0 s0", 2, roles="ws")
    waiting = session.jobs.pending_tasks(job)
    tasks = in_front(needed_tasks(session, job, waiting), waiting)

    assert [task.name for task in tasks] == ["a-0", "a-3", "a-1", "a-2"]


def test_waiting_tasks_count() -> None:
    """What has a place on room that is being released is chosen no more."""
    session, job = opened("w0 w0 s0", 2, roles="ws")
    with session.statement() as statement:
        statement.pipeline(job, session.jobs.pending_tasks(job)[:1], [0])
        steps = steps_to_minimum(session, job, session.jobs.pending_tasks(job))

        assert [[task.name for task in step] for _, step in steps] == [["a-2"]]
