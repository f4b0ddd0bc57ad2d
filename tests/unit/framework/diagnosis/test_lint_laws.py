"""Advice about tiers in which Volcano would evict more important pods, or pods of queues without surplus."""

from pathlib import Path

import pytest

from pyroclast.framework.configuration import parse
from pyroclast.framework.diagnosis.lint import lint
from pyroclast.framework.extension.served import SERVED

ACTIONS = ["allocate", "backfill", "enqueue", "gangpreempt", "gangreclaim", "preempt", "reclaim", "shuffle"]
CONFIGURATION = Path(__file__).parents[4] / "docs" / "configuration.md"


def found(text: str) -> list[str]:
    """What is said of tiers that rely on laws, as `severity path: message`."""
    told = lint(parse(text, known_plugins=[*SERVED, "outside"], known_actions=ACTIONS))
    return [f"{each.severity} {each.path}: {each.message}" for each in told if "so they also name" in each.message]


def tiers(actions: str, *plugins: str, rest: str = "") -> list[str]:
    """The same of some tiers."""
    written = ", ".join(f"{{plugins: [{tier}]}}" for tier in plugins)
    return found(f"actions: 'enqueue, allocate, {actions}'\ntiers: [{written}]\n{rest}")


def test_shares_in_a_second_tier() -> None:
    """Gang and conformance name victims of queues that have no more than they deserve."""
    assert tiers("reclaim", "{name: gang}, {name: conformance}", "{name: proportion}") == [
        (
            "note tiers[0]: gang, conformance name victims of reclaim without proportion, so they also name pods of "
            "queues that have no more than they deserve; only protectDeserved protects them"
        )
    ]


def test_shares_in_a_first_tier() -> None:
    """The second tier is asked when the first names no victim."""
    (only,) = tiers("reclaim", "{name: capacity}", "{name: gang}")

    assert only.startswith("note tiers[1]: gang name victims of reclaim without capacity")


def test_drf_behind_priority() -> None:
    """Drf looks at shares alone."""
    (only,) = tiers("preempt", "{name: priority}, {name: gang}", "{name: drf}")

    assert only.startswith(
        "note tiers[1]: drf name victims of preempt without priority, so they also name pods of a higher"
    )


def test_an_argument_that_switches_the_law_off_makes_it_a_warning() -> None:
    """Then they are evicted."""
    off = "configurations: [{name: preempt, arguments: {protectPriority: false}}]"
    (only,) = tiers("preempt", "{name: priority}, {name: gang}", "{name: drf}", rest=off)

    assert only.startswith("warning tiers[1]: drf name victims")
    assert only.endswith(", which are evicted because protectPriority is off")


def test_gangreclaim_never_asks_proportion_for_victims() -> None:
    """Only capacity and elastic-quota name victims there."""
    (only,) = tiers("gangreclaim", "{name: gang}, {name: proportion}")

    assert "without capacity or elastic-quota" in only


@pytest.mark.parametrize(
    ("actions", "plugins"),
    [
        ("preempt", ["{name: priority}, {name: gang}, {name: drf}"]),
        ("preempt", ["{name: priority}", "{name: drf, enablePreemptable: false}"]),
        ("reclaim", ["{name: priority}, {name: gang}, {name: capacity}", "{name: drf}"]),
        ("reclaim", ["{name: gang, enableReclaimable: false}", "{name: proportion}"]),
        ("reclaim", ["{name: gang}"]),
        ("gangpreempt", ["{name: gang}", "{name: conformance}"]),
    ],
)
def test_tiers_that_keep_the_laws(actions: str, plugins: list[str]) -> None:
    """Nothing is said."""
    assert tiers(actions, *plugins) == []


def test_the_documented_configuration_needs_no_report() -> None:
    """The file that docs/configuration.md prints."""
    assert found(CONFIGURATION.read_text().split("```yaml\n", 1)[1].split("```", 1)[0]) == []
