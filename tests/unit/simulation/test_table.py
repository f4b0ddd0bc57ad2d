"""Tables for people."""

from pyroclast.scheduler.simulation.table import table
from pyroclast.testing import Scenario
from tests.unit.simulation.test_rounds import ACTIONS, PLUGINS, Evict


def test_several_cycles_are_distinguished() -> None:
    """Each under its number; evictions with their preemptors, a dash without one."""
    outcome = (
        Scenario()
        .node("n1", cpu=1)
        .running("old", on=["n1"])
        .job("new")
        .run(*ACTIONS, "shuffle", plugins=(Evict, *PLUGINS), cycles=2)
    )
    first, second = table(outcome.rounds).split("=== cycle 2 ===")

    assert "=== cycle 1 ===" in first
    assert "Evicted: 1\n  POD             FOR\n  default/old-0   -\n" in first
    assert "  default/new-0   default/new   n1\n" in second
    assert "Evicted" not in second


def test_waiting_pods_have_the_reason_of_their_job() -> None:
    """Pods without a group too."""
    outcome = Scenario().node("n1", cpu=1).job("big", cpu=4).pod("loose").run(*ACTIONS, plugins=PLUGINS)
    text = table(outcome.rounds)

    assert "Waiting: 2" in text
    assert "1/1 tasks in gang unschedulable" in text
    assert "the pod names no PodGroup" in text


def test_reserved_places_are_reported() -> None:
    """Capacity that is being released, and its holder."""
    terminating = {
        "kind": "Pod",
        "metadata": {"name": "leaving", "namespace": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "resources": {"requests": {"cpu": 1}}}]},
        "status": {"phase": "Running"},
    }
    text = table(Scenario().node("n1", cpu=1).add(terminating).job("a").run(*ACTIONS, plugins=PLUGINS).rounds)

    assert (
        "Waiting for resources to be released: 1\n"
        "  POD           GROUP       NODE\n  default/a-0   default/a   n1" in text
    )
