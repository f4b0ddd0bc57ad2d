"""Answers of shadows in a running daemon: counted once for each cycle, in metrics and log."""

from typing import Any

from structlog.testing import capture_logs

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory
from pyroclast.scheduler.daemon.daemon import CycleInputs, Seen
from pyroclast.scheduler.daemon.shadow_answers import ShadowAnswers
from pyroclast.scheduler.monitoring.metrics import Metrics
from pyroclast.testing import Scenario
from pyroclast.testing.configuration import configured
from tests.shadowed import Refuser
from tests.unit.framework.session.test_shadows import NotOpening

PLUGINS = ("gang", "predicates", "nodeorder")


def seen_with(*more: Any) -> Seen:
    """Return what a daemon has seen of a cycle that placed two pods."""
    parsed, registry = configured(("allocate",), (*PLUGINS, *more), {})
    scenario = Scenario().node("n1", cpu=4).job("a", tasks=2, cpu=1)
    (done,) = scenario.run("allocate", plugins=PLUGINS).rounds
    report, _ = run_cycle(done.snapshot, parsed.configuration, registry=registry, now=1.8e9)
    inputs = CycleInputs(configuration=parsed.configuration, registry=registry, memory=Memory(), now=1.8e9)
    return Seen(snapshot=done.snapshot, report=report, inputs=inputs)


def text_after(seen: Seen, *, times: int = 1) -> str:
    """Return the metrics after a cycle was counted."""
    metrics = Metrics()
    answers = ShadowAnswers(metrics, seed=0, budget_seconds=30.0)
    for _ in range(times):
        answers.count(seen)
    return metrics.text().decode()


def test_answers_are_counted_by_plugin_point_and_result() -> None:
    """Once for each cycle, also where it is seen again."""
    line = 'pyroclast_shadow_answers_total{plugin="refuser",point="predicate",result="differs"} 2'

    assert line in text_after(seen_with({"name": Refuser, "shadow": True}))
    assert line in text_after(seen_with({"name": Refuser, "shadow": True}), times=3)


def test_without_shadows_nothing_is_counted() -> None:
    """The metric has no series."""
    assert "pyroclast_shadow_answers_total{" not in text_after(seen_with())


def test_failures_are_logged_by_name() -> None:
    """A shadow that cannot be opened is counted and logged, and does not raise."""
    with capture_logs() as lines:
        text = text_after(seen_with({"name": NotOpening, "shadow": True}))

    assert 'plugin="not-opening",point="on_session_open",result="failed"} 1' in text
    assert [(line["event"], line["plugin"]) for line in lines] == [("shadow_plugin_failed", "not-opening")]
