"""The example of docs/plugins/sla.md."""

from datetime import datetime
from typing import Any

from pyroclast.framework.configuration.arguments import decode
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Vote
from pyroclast.plugins.sla import SlaArgs
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import World, group, node, opened

START = datetime.fromisoformat("2026-01-01T00:00:00+00:00").timestamp()
LIMIT, OWN = "3m", "1m"


def world(seconds: int) -> World:
    """A session so many seconds after the first job was made."""
    jobs = (
        group("first", phase="Pending", created="2026-01-01T00:00:00Z"),
        group(
            "second", phase="Pending", created="2026-01-01T00:00:30Z", annotations={"volcano.sh/sla-waiting-time": OWN}
        ),
    )
    option = {"name": "sla", "arguments": {"sla-waiting-time": LIMIT}}
    return opened(node("n"), *jobs, plugins=[option], now=START + seconds)


def vote(name: str, seconds: int) -> Any:
    """What the plugin says at the gate."""
    there = world(seconds)
    return there.function(contract.JOB_ENQUEUEABLE).function(there.job(name))


def due(name: str) -> str:
    """The first moment at which a job is permitted, as `m:ss`."""
    seconds = next(each for each in range(600) if vote(name, each) is Vote.PERMIT)
    return f"{seconds // 60}:{seconds % 60:02}"


def test_the_page() -> None:
    """Two deadlines, and a limit that is none."""
    there = world(0)
    order = sorted((there.job(name) for name in ("first", "second")), key=there.session.jobs.order_key)
    assert (vote("second", 120), vote("first", 120)) == (Vote.PERMIT, Vote.ABSTAIN)
    args, warnings = decode(SlaArgs, {"sla-waiting-time": 1}, "arguments")
    assert (args.waiting_time, len(warnings)) == (None, 1)

    assert_tells(
        "plugins/sla",
        f"`sla-waiting-time: {LIMIT}`; the first job was created at 0:00, the second at 0:30 with `{OWN}` of its own.",
        f"They are due at {due('first')} and {due('second')}, so the {order[0].job.name} comes first.",
        "At 2:00 the second is permitted, the first has no vote.",
        "With `sla-waiting-time: 1` there is a warning and no general limit: a number has no unit.",
    )
