"""A plugin in shadow mode changes nothing, on generated clusters."""

from hypothesis import HealthCheck, given, settings

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.shadows.shadows import Shadows
from pyroclast.testing import Scenario
from pyroclast.testing.configuration import configured
from tests.drawing import examples
from tests.laws.clusters import ACTIONS, PLUGINS, clusters
from tests.shadowed import Refuser

NOW = 1_900_000_000.0


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters())
def test_a_shadow_that_refuses_everything_changes_no_decision(scenario: Scenario) -> None:
    """Report and memory are those without it. Where it is asked, the plans are the same as well."""
    (done,) = scenario.run(*ACTIONS, plugins=PLUGINS, now=NOW).rounds
    alone, registry = configured(ACTIONS, PLUGINS, {})
    beside, with_shadow = configured(ACTIONS, (*PLUGINS, ({"name": Refuser, "shadow": True},)), {})
    decided = run_cycle(done.snapshot, alone.configuration, registry=registry, now=NOW)

    assert run_cycle(done.snapshot, beside.configuration, registry=with_shadow, now=NOW) == decided
    shadows = Shadows()
    asked, _ = run_cycle(done.snapshot, beside.configuration, registry=with_shadow, now=NOW, shadows=shadows)
    assert asked.plans == decided[0].plans
    assert asked.pipelined == decided[0].pipelined
    assert asked.failures == decided[0].failures
    assert shadows.answers or not decided[0].plans
