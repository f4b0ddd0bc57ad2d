"""Clusters by chance where room is short of whole jobs: who of a job is placed first decides whether it can run."""

from random import Random
from typing import Any

from pyroclast.testing import Scenario
from tests.differential.crowded import Crowded

TIERS: tuple[Any, ...] = (
    (("priority", "gang"), ("predicates", "nodeorder")),
    (("gang",), ("predicates", "binpack")),
    (("priority", "gang", "predicates", "capacity"),),
)
EVICTING = ("preempt", "reclaim", "gangpreempt", "gangreclaim")


def scarce(chance: Random, *, full: bool) -> Crowded:
    """Make a case; with work that runs on nodes that are `full`, and an action that evicts it."""
    evicting = chance.choice(EVICTING)
    scenario = Scenario().priority_class("low", -5).priority_class("high", 10)
    scenario = scenario.queue("red", deserved={"cpu": 32}).queue("green", deserved={"cpu": 1})
    for number in range(chance.randint(1, 3 if full else 2)):
        cpu = chance.randint(2, 4) if full else chance.randint(1, 2)
        scenario = scenario.node(f"n{number}", cpu=cpu, labels={"zone": chance.choice("ab")})
        if full:
            scenario = scenario.running(
                f"v{number}",
                on=[f"n{number}"] * cpu,
                queue="green" if "reclaim" in evicting else "red",
                min_available=chance.choice([0, 0, 1, cpu]),
                priority_class="low",
            )
    for number in range(chance.randint(2, 3)):
        scenario = _with_job(scenario, f"j{number}", chance)
    actions = ("allocate", evicting) if full else ("allocate", "backfill")
    return Crowded(scenario, chance.choice(TIERS), actions, least_harm=chance.random() < 0.2, whole=True)


def _with_job(scenario: Scenario, name: str, chance: Random) -> Scenario:
    """Add a job whose roles and sub-groups are mixed in the order of its pods."""
    roles = [chance.choice("aaab") for _ in range(chance.randint(3, 6))]
    roles = sorted(roles) if chance.random() < 0.6 else roles
    parts = [chance.choice("012") for _ in roles]
    by_role = {role: chance.choice([1, 1, roles.count(role)]) for role in sorted(set(roles))}
    size = chance.randint(1, 2)
    policies: list[Any] = [{"name": "part", "matchLabelKeys": ["part"], "subGroupSize": size, "minSubGroups": 1}]
    if chance.random() < 0.5:
        policies = [{**policies[0], "name": "first", "labelSelector": {"matchLabels": {"part": "0"}}}, *policies]
    minimum = chance.choice([sum(by_role.values())] * 5 + [chance.randint(1, len(roles))])
    scenario = scenario.job(
        name,
        tasks=0,
        queue="red",
        min_available=minimum,
        min_by_role=by_role if chance.random() < 0.8 else {},
        priority_class="high",
        phase="Inqueue",
        group={"subGroupPolicy": policies} if chance.random() < 0.5 else {},
    )
    for number, (role, part) in enumerate(zip(roles, parts, strict=True)):
        scenario = scenario.pod(
            f"{name}-w-{number}",
            job=name,
            role=role,
            labels={"part": part},
            cpu=None if chance.random() < 0.05 else chance.choice([1, 1, 1, 2]),
            spec={"nodeSelector": {"zone": chance.choice("abc")}} if chance.random() < 0.15 else {},
        )
    return scenario
