"""Allocate: sub-groups take turns until the job is ready."""

from typing import Any

from pyroclast.testing import Scenario

PLUGINS = (("gang",), ("predicates", "nodeorder"))


def divided(minimum: int, *, size: int, at_least: int, parts: str) -> Scenario:
    """Return one big node and a job whose pods belong to the parts that a text names, a letter a pod."""
    policy: dict[str, Any] = {
        "name": "part",
        "matchLabelKeys": ["part"],
        "subGroupSize": size,
        "minSubGroups": at_least,
    }
    scenario = Scenario().node("n", cpu=64)
    scenario = scenario.job("j", tasks=0, min_available=minimum, group={"subGroupPolicy": [policy]})
    for number, part in enumerate(parts):
        scenario = scenario.pod(f"j-{number}", job="j", labels={"part": part})
    return scenario


def plans(scenario: Scenario) -> list[list[str]]:
    """Run allocate; return the pods of each plan."""
    outcome = scenario.run("allocate", plugins=PLUGINS)
    return [[bind.name for bind in plan.binds] for plan in outcome.rounds[0].plans]


def test_a_sub_group_stops_at_its_minimum() -> None:
    """However many placements the job lacks, a sub-group takes its own and leaves the turn to the next."""
    assert plans(divided(4, size=2, at_least=2, parts="aaaabb"))[0] == ["j-0", "j-1", "j-4", "j-5"]


def test_ready_sub_groups_go_on_until_the_job_is_ready() -> None:
    """The minimum of the job may be more than the minimums of its sub-groups together."""
    assert plans(divided(5, size=2, at_least=2, parts="aaabbb"))[0] == ["j-0", "j-1", "j-3", "j-4", "j-2"]


def test_sub_groups_of_numbers_go_by_number() -> None:
    """Sub-group 2 comes before sub-group 10, whatever their names say as text."""
    policy = {"name": "part", "matchLabelKeys": ["part"], "subGroupSize": 1, "minSubGroups": 2}
    scenario = Scenario().node("n", cpu=64).job("j", tasks=0, min_available=2, group={"subGroupPolicy": [policy]})
    scenario = scenario.pod("j-0", job="j", labels={"part": "10"}).pod("j-1", job="j", labels={"part": "2"})

    assert plans(scenario) == [["j-1", "j-0"]]
