"""No built-in plugin and no action is without a plain side."""

from pyroclast.actions.registry import BUILT_IN as ACTIONS
from pyroclast.plugins.registry import BUILT_IN as PLUGINS
from tests.differential import crowded, generated
from tests.differential.evicting import Evicting
from tests.differential.policies import POLICIES
from tests.differential.varied import SHUFFLING, VARIATIONS


def test_every_plugin_is_configured_somewhere() -> None:
    """In the tiers of generated clusters, or where clusters are varied for it."""
    named = {plugin for tiers in (*generated.TIERS, *crowded.TIERS) for tier in tiers for plugin in tier}

    assert {each.name for each in PLUGINS} == named | set(VARIATIONS)


def test_every_varied_plugin_has_a_plain_side() -> None:
    """And the other way round."""
    assert set(VARIATIONS) == set(POLICIES)


def test_every_action_is_run_somewhere() -> None:
    """The same from the plain scheduler."""
    named = {action for actions in (*generated.ACTIONS, *crowded.EVICTING, SHUFFLING) for action in actions}

    assert {each.name for each in ACTIONS} == named
    assert all(callable(getattr(Evicting, action, None)) for action in named)
