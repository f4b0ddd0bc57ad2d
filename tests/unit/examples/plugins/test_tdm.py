"""The example of docs/plugins/tdm.md."""

from pyroclast.plugins.tdm.budgets import most_evictions
from tests.unit.examples.page import assert_tells

TASKS = 5
WORDS = {1: "one", 3: "three"}


def most(**annotations: str) -> str:
    """How many of the five tasks go at once, as a word."""
    spelled = {f"volcano.sh/{key.replace('_', '-')}": text for key, text in annotations.items()}
    return WORDS[most_evictions(spelled, running=TASKS, ended=0, tasks=TASKS)]


def test_the_page() -> None:
    """The two budgets, and none."""
    assert_tells(
        "plugins/tdm",
        f"`jdb-max-unavailable: 50%` is 3 of {TASKS} ({TASKS * 50 / 100:g} rounded up): "
        f"{most(jdb_max_unavailable='50%')} can be evicted at once.",
        f"`jdb-min-available: 30%` is 2 ({TASKS * 30 / 100:g} rounded up): {most(jdb_min_available='30%')} can be.",
        f"With neither, {most()}.",
    )
