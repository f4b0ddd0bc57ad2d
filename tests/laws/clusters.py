"""Generated clusters: small, crowded, and sound, so that every rule has something to decide."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from pyroclast import Session, SessionJob, Statement
from pyroclast.testing import Scenario, open_session

ACTIONS = ("enqueue", "allocate", "backfill")
PLUGINS: tuple[Any, ...] = (
    ("priority", "gang", "conformance"),
    ("overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack"),
)
"""The default configuration, and binpack."""

QUEUES = ("red", "green", "blue")
ZONES = ("a", "b")


@st.composite
def clusters(draw: st.DrawFn) -> Scenario:
    """Draw up to five nodes, three queues and seven jobs; some jobs run already, in part or whole."""
    scenario = Scenario()
    for queue in QUEUES[: draw(st.integers(1, len(QUEUES)))]:
        limit: Mapping[str, Any] | None = draw(st.sampled_from([None, None, {"cpu": 3}, {"cpu": 6, "memory": "8Gi"}]))
        scenario = scenario.queue(queue, weight=draw(st.integers(1, 4)), capability=limit)
    queues = [each["metadata"]["name"] for each in scenario.objects]
    free: dict[str, list[int]] = {}
    for number in range(draw(st.integers(1, 5))):
        cpu, gib, pods = draw(st.integers(1, 8)), draw(st.integers(2, 16)), draw(st.integers(1, 6))
        free[f"n{number}"] = [cpu, gib, pods]
        scenario = scenario.node(
            f"n{number}",
            cpu=cpu,
            memory=f"{gib}Gi",
            pods=pods,
            labels={"zone": draw(st.sampled_from(ZONES))},
            unschedulable=draw(st.integers(0, 9)) == 0,
        )
    for number in range(draw(st.integers(1, 7))):
        scenario = draw(_with_job(scenario, f"j{number}", queues, free))
    return scenario


@st.composite
def _with_job(
    draw: st.DrawFn, scenario: Scenario, name: str, queues: Sequence[str], free: dict[str, list[int]]
) -> Scenario:
    cpu, gib, tasks = draw(st.integers(0, 4)), draw(st.integers(0, 4)), draw(st.integers(1, 5))
    minimum = draw(st.integers(0, tasks))
    running_on: list[str] = []
    if draw(st.booleans()):
        for node, room in free.items():
            if len(running_on) < tasks and room[0] >= cpu and room[1] >= gib and room[2] >= 1:
                running_on.append(node)
                room[0], room[1], room[2] = room[0] - cpu, room[1] - gib, room[2] - 1
        if len(running_on) < minimum:
            for node in running_on:
                free[node] = [free[node][0] + cpu, free[node][1] + gib, free[node][2] + 1]
            running_on = []
    selector = draw(st.sampled_from([None, None, None, "a", "b"]))
    return scenario.job(
        name,
        tasks=tasks,
        min_available=minimum,
        queue=draw(st.sampled_from(queues)),
        cpu=cpu or None,
        memory=f"{gib}Gi" if gib else None,
        running_on=running_on,
        priority=draw(st.integers(0, 2)),
        min_resources=draw(st.sampled_from([None, {"cpu": cpu * minimum}])),
        pod={"nodeSelector": {"zone": selector}} if selector else None,
    )


def opened(scenario: Scenario) -> Session:
    """Open a session with the default plugins."""
    return open_session(scenario, plugins=PLUGINS)


def act_at_random(session: Session, statement: Statement, choose: Any, steps: int) -> None:
    """Allocate, pipeline and evict at random; operations that a ledger refuses are part of the game.

    Args:
        session: Where.
        statement: Into which.
        choose: `random.Random`, or anything like it.
        steps: Number of attempts.
    """
    for _ in range(steps):
        job: SessionJob = choose.choice([job for job in session.jobs.all() if job.tasks])
        tasks = sorted(job.tasks.values(), key=lambda task: task.id)
        task = choose.choice(tasks)
        column = choose.randrange(len(session.nodes))
        if task.status.label == "Pending":
            place = choose.choice([statement.allocate, statement.pipeline])
            alike = [other for other in tasks if other.status.label == "Pending" and other.template is task.template]
            placed = alike[: choose.randint(1, len(alike))]
            place(job, placed, [column] * len(placed))
        elif task.status.label in {"Running", "Bound"}:
            statement.evict(job, task, "preempt")


def picture(session: Session) -> dict[str, Any]:
    """Return everything that can be seen of a session's state: amounts, tasks, counts, and what plugins answer."""
    jobs = list(session.jobs.all())
    queues = [session.queues.by_name[name] for name in session.snapshot.queue_names]
    return {
        "nodes": session.nodes.state.tobytes(),
        "tasks on nodes": [dict(session.nodes.tasks_on(column)) for column in range(len(session.nodes))],
        "jobs": [
            (job.id, dict(job.tasks), list(job.counts), job.allocated.tolist(), job.pending_best_effort) for job in jobs
        ],
        "job order": [session.jobs.order_key(job)[:-3] for job in jobs],
        "queue order": [
            [session.queues.order_key(left) < session.queues.order_key(right) for right in queues] for left in queues
        ],
        "overused": [session.queues.overused(queue) for queue in queues],
        "headroom": [
            session.queues.headroom(session.queues.by_name[job.queue], task, 100)
            for job in jobs
            for task in job.tasks.values()
        ],
        "allocatable": [
            session.queues.allocatable(session.queues.by_name[job.queue], task)
            for job in jobs
            for task in job.tasks.values()
        ],
        "queues": {name: amounts.tolist() for name, amounts in session.jobs.allocated_by_queue().items()},
        "nodes for": [
            session.candidates.of(task).nodes_for(task).tolist() for job in jobs for task in job.tasks.values()
        ],
    }
