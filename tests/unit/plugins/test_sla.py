"""SLA: worked example of docs/plugins/sla.md."""

from datetime import datetime
from typing import Any

import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Vote
from pyroclast.plugins.sla import SlaArgs
from tests.unit.plugins.policies import World, acted, bound, group, node, opened, pod

START = datetime.fromisoformat("2026-01-01T00:00:00+00:00").timestamp()
FIRST = group("first", phase="Pending", created="2026-01-01T00:00:00Z")
SECOND = group(
    "second", phase="Pending", created="2026-01-01T00:00:30Z", annotations={"volcano.sh/sla-waiting-time": "1m"}
)


def world(*objects: Any, now: float = 0.0, **arguments: Any) -> World:
    """A session with sla alone, `now` seconds after the start."""
    raw = {"sla-waiting-time": arguments["limit"]} if "limit" in arguments else {}
    return opened(*objects, plugins=[{"name": "sla", "arguments": raw}], now=START + now)


def order(there: World) -> list[str]:
    """Names of the jobs in order."""
    jobs = sorted((job for job in there.session.jobs.all() if job.job.name != "job"), key=there.session.jobs.order_key)
    return [job.job.name for job in jobs]


def votes(there: World, name: str) -> set[Vote]:
    """What the plugin says of a job at both points."""
    return {
        there.function(point).function(there.job(name)) for point in (contract.JOB_ENQUEUEABLE, contract.JOB_PIPELINED)
    }


def test_the_earlier_deadline_goes_first() -> None:
    """3 minutes for all, 1 for the second: due after 3:00 and after 1:30."""
    assert order(world(FIRST, SECOND, limit="3m")) == ["second", "first"]


def test_jobs_beyond_the_waiting_time_are_admitted() -> None:
    """After 2 minutes the second has, the first has not."""
    there = world(FIRST, SECOND, limit="3m", now=120)

    assert votes(there, "second") == {Vote.PERMIT}
    assert votes(there, "first") == {Vote.ABSTAIN}


def test_the_limit_itself_is_long_enough() -> None:
    """At 3:00, not before."""
    assert votes(world(FIRST, limit="3m", now=179.999), "first") == {Vote.ABSTAIN}
    assert votes(world(FIRST, limit="3m", now=180), "first") == {Vote.PERMIT}


def test_without_a_limit_a_job_goes_last_and_has_no_vote() -> None:
    """Even though it is older."""
    there = world(FIRST, SECOND, now=10**9)

    assert order(there) == ["second", "first"]
    assert votes(there, "first") == {Vote.ABSTAIN}


@pytest.mark.parametrize("broken", ["soon", "0", "-1m", "5"])
def test_a_broken_annotation_leaves_the_general_limit(broken: str) -> None:
    """As if it were not there."""
    odd = group("odd", phase="Pending", annotations={"volcano.sh/sla-waiting-time": broken})

    assert votes(world(odd, limit="3m", now=180), "odd") == {Vote.PERMIT}
    assert votes(world(odd, now=10**9), "odd") == {Vote.ABSTAIN}


@pytest.mark.parametrize("written", [1, "soon", "", "0s", "-3m", 1.5])
def test_what_is_no_duration_warns_and_is_no_limit(written: object) -> None:
    """A number is none: it has no unit."""
    args, warnings = decode(SlaArgs, {"sla-waiting-time": written}, "arguments")

    assert args.waiting_time is None
    assert len(warnings) == 1
    assert warnings[0].startswith(f"arguments.sla-waiting-time: got {written!r}, expected a duration")
    assert warnings[0].endswith("; the default None is kept")


def test_durations_are_those_of_go() -> None:
    """1h2m3s4ms5µs6ns."""
    args, warnings = decode(SlaArgs, {"sla-waiting-time": "1h2m3s4ms5µs6ns"}, "arguments")

    assert warnings == []
    assert args.waiting_time == pytest.approx(3723.004005006, abs=1e-9)


def test_an_overdue_job_passes_a_full_gate_of_a_lower_tier() -> None:
    """Overcommit below is not asked any more, in the same tier it is."""
    full = node("n", cpu="1"), pod("r", on="n", cpu="1")
    large = group("large", phase="Pending", min_resources={"cpu": "4"})
    strict = {"name": "overcommit", "arguments": {"overcommit-factor": 1}}
    patient = {"name": "sla", "arguments": {"sla-waiting-time": "1m"}}

    same_tier = acted(opened(*full, large, plugins=[patient, strict], actions="enqueue", now=START + 60))
    upper_tier = acted(opened(*full, large, tiers=[[patient], [strict]], actions="enqueue", now=START + 60))

    assert same_tier.job("large").phase == "Pending"
    assert upper_tier.job("large").phase == "Inqueue"


def test_an_overdue_gang_holds_room_that_is_being_released() -> None:
    """One of two members fits: gang says no, but sla above it lets the job keep its place."""
    leaving = pod("old", job="", on="n", cpu="1", leaving=True, spec={"termination_grace_period_seconds": 30})
    there = opened(
        node("n", cpu="1"),
        leaving,
        group("pair", minimum=2),
        pod("p1", job="pair"),
        pod("p2", job="pair"),
        tiers=[[{"name": "sla", "arguments": {"sla-waiting-time": "1m"}}], ["gang"]],
        actions="allocate",
        now=START + 60,
    )
    acted(there)

    assert bound(there) == {}
    assert there.job("pair").waiting_count == 1
