"""Examining pods in a running daemon: what is asked of the last cycle, what is logged, and how many may wait."""

import asyncio
import threading
from typing import Any

import pytest
from structlog.testing import capture_logs

from pyroclast.framework.session.memory import Memory
from pyroclast.scheduler.daemon import examining
from pyroclast.scheduler.daemon.cycle_thread import CycleThread
from pyroclast.scheduler.daemon.daemon import CycleInputs, Seen
from pyroclast.scheduler.daemon.examining import MOST_WAITING, PodExaminer
from pyroclast.scheduler.monitoring.debug_endpoints import BusyError
from pyroclast.scheduler.monitoring.debug_flags import DebugFlags
from pyroclast.scheduler.monitoring.examinations import names_in
from pyroclast.testing import Scenario
from pyroclast.testing.configuration import configured

PLUGINS = ("gang", "predicates", "nodeorder")


def seen_of(scenario: Scenario) -> Seen:
    """Return what a daemon has seen of a cycle."""
    parsed, registry = configured(("allocate",), PLUGINS, {})
    (done,) = scenario.run("allocate", plugins=PLUGINS).rounds
    inputs = CycleInputs(configuration=parsed.configuration, registry=registry, memory=Memory(), now=1.8e9)
    return Seen(snapshot=done.snapshot, report=done.report, inputs=inputs)


@pytest.fixture
def seen() -> Seen:
    """A cycle that placed one of two jobs."""
    return seen_of(Scenario().node("n1", cpu=4).node("n2", cpu=2).job("small", cpu=3).job("large", cpu=9))


async def test_pods_of_the_last_cycle_are_explained(seen: Seen) -> None:
    """Pods by name, or all pods of a job; other names give None."""
    thread = CycleThread()
    examiner = PodExaminer(lambda: seen, thread, seed=0)
    (small,) = await examiner.explain("default/small", 5) or []
    (large,) = await examiner.explain("default/large-0", 5) or []

    assert (small["moment"], small["node"]) == ("placed", "n1")
    assert (large["moment"], large["refusals"][0]["reason"]) == ("refused", "Insufficient cpu")
    assert await examiner.explain("default/none", 5) is None
    assert await PodExaminer(lambda: None, thread, seed=0).explain("default/small", 5) is None
    thread.close()


async def test_the_loop_does_not_look_for_the_name(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tasks of the cluster are read for it, in the cycle's thread."""
    threads: list[str] = []

    def noted(*about: Any) -> Any:
        threads.append(threading.current_thread().name)
        return names_in(*about)

    monkeypatch.setattr(examining, "names_in", noted)
    thread = CycleThread()
    assert await PodExaminer(lambda: seen, thread, seed=0).explain("default/small", 1)
    assert threads == ["cycle"]
    thread.close()


async def test_few_requests_may_wait(seen: Seen) -> None:
    """A request beyond the bound is refused at once; the others are answered."""
    thread = CycleThread()
    examiner = PodExaminer(lambda: seen, thread, seed=0)
    waiting = [asyncio.create_task(examiner.explain("default/small", 1)) for _ in range(MOST_WAITING)]
    await asyncio.sleep(0)

    with pytest.raises(BusyError):
        await examiner.explain("default/small", 1)
    assert all(await asyncio.gather(*waiting))
    assert await examiner.explain("default/small", 1)
    thread.close()


def logged(seen: Seen, flags: DebugFlags) -> list[dict[str, Any]]:
    """Return the lines for a cycle."""
    with capture_logs() as lines:
        PodExaminer(lambda: seen, CycleThread(), seed=0).log(seen, flags)
    return [dict(line) for line in lines]


def test_scores_of_placed_pods_are_logged(seen: Seen) -> None:
    """A line for each placed pod, with the rows of its table."""
    (line,) = logged(seen, DebugFlags(scores=1))

    assert (line["event"], line["pod"], line["node"]) == ("node_scores", "default/small-0", "n1")
    (row,) = line["scores"]
    assert (row["#"], row["node"]) == (1, "n1")
    assert row["score"] == sum(value for name, value in row.items() if name.startswith("nodeorder"))


def test_refusals_of_waiting_pods_are_logged(seen: Seen) -> None:
    """A line for each rule, with its nodes."""
    (line,) = logged(seen, DebugFlags(filters=True))

    assert (line["event"], line["pod"], line["reason"]) == ("node_refusals", "default/large-0", "Insufficient cpu")
    assert (line["count"], line["nodes"]) == (2, ("n1", "n2"))


def test_reasons_of_waiting_pods_are_logged(seen: Seen) -> None:
    """A line for each waiting pod, with its own reasons and those of its job; nothing is decided again."""
    (line,) = logged(seen, DebugFlags(diagnosis=True))

    assert (line["event"], line["pod"], line["job"]) == ("pod_diagnosis", "default/large-0", "default/large")
    (own, *_) = line["reasons"]
    assert (own["of"], own["action"]) == ("pod", "")
    assert "Insufficient cpu" in own["message"]


def test_nothing_is_logged_without_flags(seen: Seen) -> None:
    """All flags are off at first."""
    assert logged(seen, DebugFlags()) == []
