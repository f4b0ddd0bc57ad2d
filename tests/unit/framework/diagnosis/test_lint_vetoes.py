"""Advice about plugins that protect pods where they are not asked."""

import pytest

from pyroclast.framework.configuration import parse
from pyroclast.framework.diagnosis.lint import lint
from pyroclast.framework.diagnosis.lint.vetoes import IN_EVERY_TIER, SPARING
from pyroclast.framework.extension.served import SERVED

ACTIONS = ["allocate", "backfill", "enqueue", "gangpreempt", "gangreclaim", "preempt", "reclaim", "shuffle"]
ALONE = "arguments: {everyTier: false}"
WINDOW = "arguments: {tdm.revocable-zone.a: '0:00-1:00'}"


def found(actions: str, *tiers: str) -> list[str]:
    """What is said of vetoes that are passed by, as `path: message`."""
    written = ", ".join(f"{{plugins: [{tier}]}}" for tier in tiers)
    text = f"actions: 'enqueue, allocate, {actions}'\ntiers: [{written}]"
    parsed = parse(text, known_plugins=[*SERVED, "outside"], known_actions=ACTIONS)
    told = [finding for finding in lint(parsed) if "is asked for victims" in finding.message]
    assert {finding.severity for finding in told} <= {"warning"}
    return [f"{finding.path}: {finding.message}" for finding in told]


def test_a_budget_behind_a_tier_with_victims_is_reported() -> None:
    """With both tiers, who answers before, and what to do."""
    assert found("preempt", "{name: priority}, {name: gang}", f"{{name: predicates}}, {{name: pdb, {ALONE}}}") == [
        (
            "tiers[1].plugins[1]: tiers[1] is asked for victims of preempt only when tiers[0] (priority, gang) names "
            "none, so pods protected by a disruption budget are evicted all the same; move pdb to tiers[0]"
        )
    ]


@pytest.mark.parametrize("plugin", sorted(SPARING))
def test_every_plugin_with_vetoes_is_reported(plugin: str) -> None:
    """Budgets, cool-down times, system pods, zones."""
    arguments = {"tdm": WINDOW, "elastic-quota": ""}.get(plugin, ALONE)
    (only,) = found("preempt", "{name: gang}", f"{{name: {plugin}, {arguments}}}")

    assert SPARING[plugin] in only


@pytest.mark.parametrize("plugin", sorted(IN_EVERY_TIER))
def test_plugins_that_protect_in_every_tier_are_not_reported(plugin: str) -> None:
    """They limit what earlier tiers choose."""
    assert found("preempt, gangreclaim", "{name: gang}", f"{{name: {plugin}}}") == []


def test_actions_of_one_tier_share_a_finding() -> None:
    """One finding for each tier that is asked before."""
    on_preempt, on_reclaim = found("preempt, reclaim", "{name: priority}", "{name: gang}", f"{{name: cdp, {ALONE}}}")

    assert "victims of preempt only when tiers[0] (priority)" in on_preempt
    assert "victims of reclaim only when tiers[1] (gang)" in on_reclaim


def test_gang_actions_ask_all_that_spare() -> None:
    """Conformance, budgets and cool-down times have a say there too, in the tier in which they stand."""
    plugins = ", ".join(f"{{name: {name}, {ALONE}}}" for name in ("conformance", "pdb", "cdp"))
    told = found("gangpreempt, gangreclaim", "{name: gang}", plugins)

    assert [each.partition(":")[0] for each in told] == [f"tiers[1].plugins[{number}]" for number in range(3)]
    assert all("victims of gangpreempt, gangreclaim only" in each for each in told)


@pytest.mark.parametrize(
    ("actions", "tiers"),
    [
        ("preempt", ["{name: gang}, {name: pdb}"]),
        ("preempt", ["{name: pdb}, {name: cdp}", "{name: gang}"]),
        ("preempt", ["{name: gang, enablePreemptable: false}", "{name: pdb}"]),
        ("preempt", ["{name: predicates}, {name: proportion}", "{name: pdb}"]),
        ("preempt", ["{name: outside}", "{name: pdb}"]),
        ("reclaim", ["{name: priority}", "{name: cdp}"]),
        ("reclaim", ["{name: drf}", "{name: cdp}"]),
        ("backfill", ["{name: gang}", "{name: pdb}"]),
    ],
)
def test_effective_protection_is_not_reported(actions: str, tiers: list[str]) -> None:
    """In the first tier that names victims, behind plugins that name none, or without an action that evicts."""
    assert found(actions, *tiers) == []


def test_disabled_protection_is_not_reported() -> None:
    """It protects no pods by design."""
    assert found("preempt", "{name: gang}", "{name: pdb, enablePreemptable: false}") == []
