"""Extender: who may give way."""

from typing import Any

import pytest

from pyroclast.framework.session.session import Session
from pyroclast.model.tasks import Task
from pyroclast.testing import Scenario
from tests.unit.plugins.extending import AWAY, Service, opened

FULL = Scenario().node("n1", cpu=2).running("old", on=["n1", "n1"]).job("new", priority=100)
BOTH = pytest.mark.parametrize("verb", ["preemptable", "reclaimable"])


def chosen(verb: str, reply: Any, *, plugins: tuple[Any, ...] = (), **more: Any) -> tuple[list[str], Session, Service]:
    """Return who may go by the answer, of two candidates."""
    service = Service(**{verb: reply})
    session = opened(FULL, service, plugins=plugins, **more)
    new, old = task_of(session, "new-0"), [task_of(session, f"old-{number}") for number in (0, 1)]
    return [task.name for task in getattr(session.evictions, verb)(new, old)], session, service


def task_of(session: Session, name: str) -> Task:
    """Return a task by its name."""
    return next(task for job in session.jobs.all() for task in job.tasks.values() if task.name == name)


def echo(*names: str, status: int = 1) -> Any:
    """Return who gives some of the tasks back, as they came."""
    return lambda body: {"status": status, "victims": [each for each in body["evictees"] if each["Name"] in names]}


@BOTH
def test_victims_are_found_by_their_uid(verb: str) -> None:
    """What else of a task comes back is not looked at."""

    def answer(body: Any) -> Any:
        (first, _) = body["evictees"]
        return {"status": 1, "victims": [{"UID": first["UID"], "Name": "another", "Pod": 7}]}

    names, _, service = chosen(verb, answer)

    assert names == ["old-0"]
    ((_, body),) = service.asked
    assert body["evictor"]["Name"] == "new-0"
    assert [each["Name"] for each in body["evictees"]] == ["old-0", "old-1"]


@BOTH
@pytest.mark.parametrize(
    ("reply", "names"),
    [
        (echo("old-0", "old-1"), ["old-0", "old-1"]),
        (echo("old-1"), ["old-1"]),
        ({"status": 1, "victims": []}, []),
        ({"status": 1, "victims": None}, []),
        (echo("old-0", status=-1), []),
        (AWAY, []),
        ({"status": 1, "victims": "all"}, []),
        ({"status": 1, "victims": [{"UID": 7}]}, []),
        ({"status": 1.5}, []),
    ],
)
def test_answers(verb: str, reply: Any, names: list[str]) -> None:
    """A permit names them; a reject, a failure and an answer of another shape spare all."""
    assert chosen(verb, reply)[0] == names


@BOTH
@pytest.mark.parametrize("reply", [{"status": 0, "victims": []}, {}, echo("old-0", status=0)])
def test_abstentions_do_not_count(verb: str, reply: Any) -> None:
    """Others decide: here conformance, which protects nothing."""
    assert chosen(verb, reply, plugins=("conformance",))[0] == ["old-0", "old-1"]


@BOTH
def test_an_ignorable_failure_abstains(verb: str) -> None:
    """It neither protects all pods, nor permits any."""
    names, session, _ = chosen(verb, AWAY, plugins=("conformance",), ignorable=True)

    assert names == ["old-0", "old-1"]
    assert list(session.extensions.failures) == ["extender"]
    assert chosen(verb, AWAY, ignorable=True)[0] == []


@BOTH
def test_a_failure_that_counts_spares_all(verb: str) -> None:
    """Whatever others say."""
    assert chosen(verb, AWAY, plugins=("conformance",))[0] == []


@BOTH
def test_unoffered_victims_are_reported_and_not_evicted(verb: str) -> None:
    """Those offered go all the same."""

    def answer(body: Any) -> Any:
        return {"status": 1, "victims": [{"UID": "stranger"}, {"UID": body["evictor"]["UID"]}, body["evictees"][1]]}

    names, session, _ = chosen(verb, answer)

    assert names == ["old-1"]
    assert f"{verb} names victims that were not offered" in session.extensions.failures["extender"].message
    assert "stranger" in session.extensions.failures["extender"].message


@BOTH
def test_it_is_not_asked_for_tasks_that_it_does_not_manage(verb: str) -> None:
    """The beneficiary counts."""
    names, _, service = chosen(verb, AWAY, plugins=("conformance",), managedResources=["nvidia.com/gpu"])

    assert names == ["old-0", "old-1"]
    assert service.asked == []
