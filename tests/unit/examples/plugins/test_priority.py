"""The example of docs/plugins/priority.md."""

from pyroclast.framework.extension import contract
from pyroclast.model import wire
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import group, node, opened, pod

VALUES = {"a": 10, "b": 5, "c": 10, "low": 100, "high": 1000}


def test_the_page() -> None:
    """The order of three jobs, and whose place may be taken."""
    classes = (wire.PriorityClass(metadata=wire.ObjectMeta(name=name), value=value) for name, value in VALUES.items())
    groups = (
        group(name, priority_class_name=name, created=f"2026-01-01T00:00:0{number}Z")
        for number, name in enumerate(VALUES)
    )
    small, large = 1, 1000
    there = opened(
        *classes,
        *groups,
        node("n"),
        pod("wants", job="high"),
        pod("small", job="low", on="n", spec={"priority": small}),
        pod("large", job="low", on="n", spec={"priority": large}),
        plugins=["priority"],
    )
    order = sorted((there.job(name) for name in "cba"), key=there.session.jobs.order_key)
    chosen, _ = there.function(contract.PREEMPTABLE).function(there.task("wants"), there.tasks("small", "large"))
    assert len(chosen) == 2

    assert_tells(
        "plugins/priority",
        f"Jobs a (priority {VALUES['a']}), b ({VALUES['b']}) and c ({VALUES['c']}), created in this order, "
        f"are served as {', '.join(job.job.name for job in order)}.",
        f"A task of a job of priority {VALUES['high']} can preempt both tasks of a job of priority "
        f"{VALUES['low']}, one of priority {small} and one of {large}.",
    )
