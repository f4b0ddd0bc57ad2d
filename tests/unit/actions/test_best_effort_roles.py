"""Best-effort members count towards a role only when a node takes them."""

from pyroclast.testing import Outcome, Scenario

PLUGINS = (("gang",), ("predicates",))


def mixed(pods: int) -> Outcome:
    """Run a job of minimum 1 whose role `aide` is best-effort and must have one, on a node for so many pods."""
    scenario = Scenario().node("n", cpu=4, pods=pods)
    scenario = scenario.job("j", tasks=0, min_available=1, min_by_role={"aide": 1})
    scenario = scenario.pod("j-0", job="j", role="main").pod("j-1", job="j", role="aide", cpu=None)
    return scenario.run("allocate", "backfill", plugins=PLUGINS)


def test_a_role_without_a_place_holds_its_job_back() -> None:
    """The node takes one pod: the aide would have none, so nothing is bound."""
    assert mixed(pods=1).bindings == {}


def test_a_job_is_bound_with_its_role() -> None:
    """The node takes both, and one plan binds both."""
    outcome = mixed(pods=2)

    assert [[bind.name for bind in plan.binds] for plan in outcome.rounds[0].plans] == [["j-0", "j-1"]]
