"""The table says of each budget whether it was met, and where it was missed by how much."""

import msgspec
import pytest

from benchmarks.results import Budget, Result, at_least, below, stated, table


def result(figure: float | None, budget: Budget, fault: str = "") -> Result:
    """Return a budget, measured."""
    return Result(name="B0", work="some work", budget=budget, figure=figure, fault=fault, note="seen", speed=20.0)


@pytest.mark.parametrize(
    ("figure", "budget", "verdict"),
    [
        (10_000.0, at_least(10_000, "decisions/s"), "met"),
        (7_600.0, at_least(10_000, "decisions/s"), "missed: 0.76 times the budget"),
        (9_970.0, at_least(10_000, "decisions/s"), "missed: 0.997 times the budget"),
        (149.9, below(150, "ms"), "met"),
        (150.0, below(150, "ms"), "missed: 1 times the budget"),
        (375.0, below(150, "ms"), "missed: 2.5 times the budget"),
        (-6.0, below(5, "%", digits=1), "met"),
        (6.4, below(5, "%", digits=1), "missed: 1.28 times the budget"),
    ],
)
def test_a_missed_budget_says_by_how_much(figure: float, budget: Budget, verdict: str) -> None:
    """As a multiple of the budget; a floor is met when it is reached, a ceiling while figures stay below."""
    assert result(figure, budget).verdict == verdict
    assert result(figure, budget).is_met == (verdict == "met")


def test_work_that_was_not_done_misses_its_budget() -> None:
    """However fast it was, and beside how much it was missed by."""
    assert result(1.0, below(150, "ms"), fault="7 of 10 bound").verdict == "missed: 7 of 10 bound"
    slow = result(300.0, below(150, "ms"), fault="7 of 10 bound")
    assert slow.verdict == "missed: 2 times the budget, 7 of 10 bound"


def test_what_could_not_be_measured_is_missed() -> None:
    """With the reason."""
    absent = result(None, at_least(75, "%"), fault="no etcd")

    assert (absent.measured, absent.verdict) == ("not measured", "missed: no etcd")


def test_what_is_only_stated_is_neither_met_nor_missed() -> None:
    """There is no budget to hold it to."""
    memory = result(292.0, stated("MB"))

    assert (memory.measured, memory.budget.text, memory.verdict) == ("292 MB", "stated", "-")


def test_the_table_has_a_row_and_a_note_for_each() -> None:
    """Figures in their units, the speed of the machine in the note."""
    lines = table([result(7_600.4, at_least(10_000, "decisions/s"))]).splitlines()

    assert lines[2] == ("| B0 | some work | 7,600 decisions/s | ≥ 10,000 decisions/s | missed: 0.76 times the budget |")
    assert lines[-1] == "B0: seen (plain loop: 20 M additions/s)"


def test_a_result_survives_the_way_between_processes() -> None:
    """Each benchmark is measured in a process of its own."""
    sent = result(46.0, below(150, "ms", digits=1))

    assert msgspec.json.decode(msgspec.json.encode(sent), type=Result) == sent
