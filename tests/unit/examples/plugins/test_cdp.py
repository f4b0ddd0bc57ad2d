"""The example of docs/plugins/cdp.md."""

import msgspec

from pyroclast.model import wire
from pyroclast.model.wire.times import time_text
from pyroclast.plugins.cdp import is_cooling_down
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import pod

NOW = 1_800_000_000.0
CASES = (("600s", "Running", 100), ("600s", "Running", 700), ("600s", "Pending", 100), ("600abcde", "Running", 100))


def row(cooldown: str, phase: str, seconds_ago: int) -> str:
    """A line of the table."""
    made = pod("p", on="n", phase=phase, labels={"volcano.sh/cooldown-time": cooldown})
    condition = wire.Condition(type="PodScheduled", status="True", last_transition_time=time_text(NOW - seconds_ago))
    made = msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, conditions=(condition,)))
    verdict = "spared" if is_cooling_down(made, NOW) else "may be evicted"
    return f"| `{cooldown}` | {phase} | {seconds_ago} s ago | {verdict} |"


def test_the_page() -> None:
    """Young and old, running and not, and a time that is none."""
    assert_tells("plugins/cdp", *(row(*case) for case in CASES))
