"""A plugin that says no at job_ready is named; nothing says that the group is ready or scheduled."""

from typing import Any

import pytest

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin
from pyroclast.framework.session.session import Session
from pyroclast.testing import Outcome, Scenario

MESSAGE = "plugin licences prevents the start of the job, although nodes have capacity for its minimum"


class Licences(Plugin):
    """A plugin that lets no job start, or those alone that have begun."""

    name = "licences"
    watches_clock = False

    def on_session_open(self, session: Session) -> None:
        """Register."""
        session.extensions.register(contract.JOB_READY, self.name, lambda _job: False)


def decided(scenario: Scenario, *plugins: Any) -> Outcome:
    """Run a cycle."""
    return scenario.node("n1").run("enqueue", "allocate", "backfill", plugins=(*plugins, "predicates"))


@pytest.mark.parametrize("plugins", [("gang", Licences()), (Licences(), "gang")], ids=["gang first", "gang last"])
@pytest.mark.parametrize("minimum", [0, 1, 2])
def test_the_plugin_is_named(plugins: tuple[Any, ...], minimum: int) -> None:
    """In the condition and the event of the group, and in those of its pods."""
    outcome = decided(Scenario().job("a", tasks=2, min_available=minimum), *plugins)

    assert outcome.bindings == {}
    assert outcome.condition_message("a-0") == MESSAGE
    conditions = outcome.conditions("a")
    assert "Scheduled" not in conditions
    assert "pod group is not ready" in conditions["Unschedulable"].message
    assert conditions["Unschedulable"].message.endswith(f"Origin reason is {MESSAGE}")
    assert [each.reason for each in outcome.events if each.kind == "PodGroup"] == ["Unschedulable"]


def test_without_gang_it_is_named_too() -> None:
    """Then the event alone speaks of the group."""
    outcome = decided(Scenario().job("a"), Licences())

    assert outcome.condition_message("a-0") == MESSAGE
    assert [(each.reason, MESSAGE in each.message) for each in outcome.events if each.kind == "PodGroup"] == [
        ("Unschedulable", True)
    ]


def test_a_gang_without_capacity_has_a_capacity_reason() -> None:
    """The plugin is no matter as long as the minimum has no places."""
    outcome = decided(Scenario().job("a", tasks=2, cpu=5), Licences(), "gang")

    assert MESSAGE not in outcome.condition_message("a-0")
    assert MESSAGE not in outcome.conditions("a")["Unschedulable"].message


def test_a_job_that_runs_stays_scheduled() -> None:
    """Its minimum runs; a further pod is kept back and says why."""
    outcome = decided(Scenario().job("a", tasks=2, min_available=1, running_on=["n1"]), "gang", Licences())

    assert outcome.conditions("a")["Scheduled"].status == "True"
    assert outcome.condition_message("a-1") == MESSAGE


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_nothing_is_evicted_for_it_in_that_cycle(action: str) -> None:
    """The first member finds room and is refused; for the second one another would have to go."""
    scenario = (
        Scenario()
        .queue("q")
        .priority_class("low", 10)
        .priority_class("high", 100)
        .node("n1", cpu=2)
        .running("low", on=["n1"], queue="q", priority_class="low", min_available=0)
        .job("a", tasks=2, min_available=1, queue="q", priority_class="high", phase="Inqueue")
    )
    plugins = (("priority", {"name": "gang", "enableJobStarving": False}, "predicates"),)
    refusing = ((*plugins[0], Licences()),)

    assert scenario.run("allocate", action, plugins=refusing).evictions == []
    told = scenario.run("allocate", action, plugins=refusing).why("a")
    assert "plugin licences prevents the start of the job" in told
