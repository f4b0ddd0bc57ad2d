"""Order of victims: what a plugin says of the tasks of one job is not compared with those of another."""

import itertools

import pytest

from pyroclast.framework.preemption.victim_order import in_order
from pyroclast.model import wire
from tests.unit.plugins.policies import World, group, node, opened, pod

TOGETHER = {"volcano.sh/task-topology-affinity": "ps,worker"}


def member(name: str, role: str, *, on: str = "n1") -> wire.Pod:
    """A pod of a role, in the job that its name begins with; the index at the end tells tasks apart."""
    return pod(name, job=name.partition("-")[0], on=on, annotations={"volcano.sh/task-spec": role})


def world() -> World:
    """A job with one bucket of three and one task outside, and a job without annotations; indices alternate."""
    return opened(
        node("n1"),
        group("near", annotations=TOGETHER),
        group("plain"),
        group("mine"),
        member("near-bucket-1", "ps"),
        member("plain-any-2", "ps"),
        member("near-outside-3", "chief"),
        member("plain-any-4", "worker"),
        member("near-bucket-5", "worker"),
        member("plain-any-6", "worker"),
        member("near-waits-7", "worker", on=""),
        plugins=["task-topology"],
    )


def ordered(there: World, *names: str) -> list[str]:
    """Names of victims, first to go first."""
    return [task.name for task in in_order(there.session, there.job("mine"), there.tasks(*names))]


def test_inside_a_job_tasks_without_a_bucket_go_first() -> None:
    """They are placed last; of the bucket the highest index goes first."""
    assert ordered(world(), "near-bucket-1", "near-outside-3", "near-bucket-5") == [
        "near-outside-3",
        "near-bucket-5",
        "near-bucket-1",
    ]


def test_a_bucket_does_not_spare_tasks_from_those_of_other_jobs() -> None:
    """Compared by buckets all of `plain` would go before them; across jobs the highest index goes first."""
    assert ordered(world(), "near-bucket-5", "plain-any-4", "plain-any-6") == [
        "plain-any-6",
        "near-bucket-5",
        "plain-any-4",
    ]


def test_a_job_keeps_its_own_order_among_others() -> None:
    """Number 5, in a bucket, waits until number 3 has gone, which its own job gives first."""
    names = ("near-bucket-1", "plain-any-2", "near-outside-3", "plain-any-4", "near-bucket-5", "plain-any-6")

    assert ordered(world(), *names) == [
        "plain-any-6",
        "plain-any-4",
        "near-outside-3",
        "near-bucket-5",
        "plain-any-2",
        "near-bucket-1",
    ]


@pytest.mark.parametrize(
    "names", list(itertools.permutations(["plain-any-2", "near-outside-3", "near-bucket-5", "plain-any-6"]))
)
def test_the_order_of_the_question_does_not_matter(names: tuple[str, ...]) -> None:
    """Any order of candidates gives the same order of victims."""
    assert ordered(world(), *names) == ["plain-any-6", "near-outside-3", "near-bucket-5", "plain-any-2"]
