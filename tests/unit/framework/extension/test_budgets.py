"""Time budgets: a plugin from outside that takes too long is left out, fails closed, and is replayed the same."""

from typing import Any

from pyroclast import Plugin, Session, contract
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.extension.budgets import RecordedBudgets
from pyroclast.model.report import CycleReport
from pyroclast.scheduler.daemon.plugin_budgets import ClockBudgets
from pyroclast.testing import Scenario
from pyroclast.testing.configuration import configured


class Clock:
    """A clock that a plugin moves."""

    now = 0.0

    def __call__(self) -> float:
        """Return the moment."""
        return self.now


class Slow(Plugin):
    """Takes a second for each question."""

    name = "slow"
    clock = Clock()
    asked: list[str] = []  # noqa: RUF012  # one for all instances, which a cycle makes anew

    def on_session_open(self, session: Session) -> None:
        """Register a score, an order of jobs and a predicate."""

        def take(what: str, answer: Any) -> Any:
            def ask(*_: Any) -> Any:
                self.clock.now += 1.0
                self.asked.append(what)
                return answer

            return ask

        session.extensions.register(contract.NODE_ORDER, self.name, take("score", 1.0))
        session.extensions.register(contract.JOB_ORDER, self.name, take("order", 0))
        session.extensions.register(contract.PREDICATE, self.name, take("predicate", True))


def decide(budgets: Any) -> CycleReport:
    """Decide a cycle with three jobs on two nodes."""
    scenario = Scenario().node("n1", cpu=8).node("n2", cpu=8)
    for name in ("a", "b", "c"):
        scenario = scenario.job(name, cpu=1)
    parsed, registry = configured(("allocate",), ("gang", "predicates", Slow), {})
    (done,) = scenario.run("allocate", plugins=("gang", "predicates")).rounds
    Slow.asked.clear()
    report, _ = run_cycle(done.snapshot, parsed.configuration, registry=registry, now=1.8e9, budgets=budgets)
    return report


def test_the_time_of_a_call_belongs_to_the_plugin_that_is_called() -> None:
    """A plugin that asks the session is not charged for the plugins that the session calls."""
    clock = Clock()
    budgets = ClockBudgets(lambda _: 3.0, clock)
    budgets.begin("asks")
    clock.now += 1.0
    budgets.begin("slow")
    clock.now += 5.0
    assert budgets.end("slow")
    clock.now += 1.0
    assert not budgets.end("asks")
    assert budgets.left_out == {"slow": 1}


def test_within_its_budget_a_plugin_is_asked_everything() -> None:
    """Nothing is left out, with a limit or without."""
    report = decide(ClockBudgets(lambda _: 0.0, Slow.clock))

    assert sum(len(plan.binds) for plan in report.plans) == 3
    assert report.failures == {}
    assert decide(None) == report
    assert decide(ClockBudgets(lambda _: 1000.0, Slow.clock)) == report


def test_beyond_its_budget_a_plugin_refuses_and_is_named() -> None:
    """No question is asked after the call that exceeds the budget; what the plugin filters is refused."""
    budgets = ClockBudgets(lambda name: 3.5 if name == "slow" else 0.0, Slow.clock)
    report = decide(budgets)

    assert len(Slow.asked) == 4
    assert budgets.left_out == {"slow": 5}  # the opening is a call, too
    assert "time budget" in report.failures["slow"].message
    refused = [why for each in report.task_refusals.values() for why in each]
    assert refused
    assert all("time budget" in str(dict(why.counts)) for why in refused)
    assert {(sample.metric, sample.labels) for sample in report.samples} >= {
        ("plugin_over_budget_total", (("plugin", "slow"),))
    }


def test_a_recorded_session_leaves_the_plugin_out_at_the_same_call() -> None:
    """Without a clock, by the number of calls, the report is the same."""
    budgets = ClockBudgets(lambda _: 3.5, Slow.clock)
    report = decide(budgets)

    assert decide(RecordedBudgets(budgets.left_out)) == report
    assert decide(RecordedBudgets({"slow": 2})) != report


def test_the_next_session_asks_again() -> None:
    """A budget is for one session."""
    decide(ClockBudgets(lambda _: 0.5, Slow.clock))

    assert decide(ClockBudgets(lambda _: 0.0, Slow.clock)).failures == {}
