"""The product and a plain, slow scheduler decide alike, on clusters by chance."""

from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.scheduler.simulation.case import moment_after
from tests.differential.evicting import Evicting
from tests.differential.generated import AS_VOLCANO, Case, case
from tests.drawing import examples

ALIKE = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEEDS = st.integers(0, 2**32)


def plainly(each: Case) -> dict[str, Any]:
    """Decide as the rules are written."""
    plain = Evicting(each.scenario.objects, each.tiers, moment_after(each.scenario.objects) - 3600 * 24 * 365)
    plain.run(each.actions)
    return {"plans": plain.plans, "held": plain.held, "phases": plain.phases}


def by_the_product(each: Case) -> dict[str, Any]:
    """Decide as the product does."""
    now = moment_after(each.scenario.objects) - 3600 * 24 * 365
    outcome = each.scenario.run(*each.actions, plugins=each.tiers, arguments=AS_VOLCANO, now=now)
    assert outcome.failed_plugins == []
    assert outcome.warnings == ()
    names = outcome.rounds[0].pod_names
    plans = [[(names[bind.task], bind.node) for bind in plan.binds] for plan in outcome.report.plans]
    held = {names[task]: node for places in outcome.report.pipelined.values() for task, node in places.items()}
    phases = {job: phase.value for job, phase in outcome.report.phases.items()}
    return {"plans": plans, "held": held, "phases": phases}


@ALIKE
@given(SEEDS)
def test_same_plans_in_the_same_order(seed: int) -> None:
    """Gangs, roles, best-effort pods, queues, constraints: every plan is the same, pod by pod and in order."""
    each = case(Random(seed))

    assert by_the_product(each) == plainly(each)


@ALIKE
@given(SEEDS)
def test_same_plans_for_divided_jobs(seed: int) -> None:
    """The same where groups have sub-groups."""
    each = case(Random(seed), divided=True)

    assert by_the_product(each) == plainly(each)
