"""Coscheduling: its arguments, how gangs are read by them, and that it costs nothing where there is no gang."""

from fractions import Fraction
from typing import Any

import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.framework.extension import contract
from pyroclast.model.gangs import GangRules
from pyroclast.plugins.coscheduling import CoschedulingArgs, gang_rules
from pyroclast.testing import Scenario, open_session
from pyroclast.testing.configuration import configured
from tests.gangs import annotated


def read(**raw: Any) -> tuple[CoschedulingArgs, list[str]]:
    """What comes of arguments, and the warnings."""
    return decode(CoschedulingArgs, raw, "arguments")


def rules(*plugins: Any) -> tuple[GangRules | None, list[str]]:
    """Rules for gangs of a configuration, and its warnings."""
    parsed, _ = configured(("allocate",), plugins, {})
    return gang_rules(parsed.configuration.profiles[0]), list(parsed.warnings)


def test_values_are_read_as_koordinator_writes_them() -> None:
    """Ten minutes and once satisfied, where nothing else is said."""
    assert (read()[0].match_policy, read()[0].timeout, read()[1]) == ("once-satisfied", Fraction(600), [])
    args, warnings = read(defaultMatchPolicy="only-waiting", defaultTimeout="1m30s")
    assert (args.match_policy, args.timeout, warnings) == ("only-waiting", Fraction(90), [])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("defaultMatchPolicy", "most"),
        ("defaultMatchPolicy", 1),
        ("defaultMatchPolicy", ["only-waiting"]),
        ("defaultTimeout", "-1s"),
        ("defaultTimeout", 600),
        ("defaultTimeout", "soon"),
        ("controllerWorkers", 0),
        ("controllerWorkers", "many"),
        ("enablePreemption", "perhaps"),
    ],
)
def test_what_cannot_be_read_warns_and_the_default_holds(key: str, value: Any) -> None:
    """With its path, what was got and what was expected."""
    args, warnings = read(**{key: value})
    assert args == CoschedulingArgs()
    (warning,) = warnings
    assert warning.startswith(f"arguments.{key}: got ")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("controllerWorkers", 2),
        ("enablePreemption", True),
        ("skipCheckScheduleCycle", True),
    ],
)
def test_arguments_without_effect_are_reported(key: str, value: Any) -> None:
    """Koordinator's configuration is taken as it is; what of it does nothing here is named."""
    _, warnings = read(**{key: value})
    (warning,) = warnings
    assert warning.startswith(f"arguments.{key}: has no effect")


def test_gangs_are_read_while_it_stands_in_the_configuration() -> None:
    """Rules follow its arguments; the tier does not matter."""
    assert rules("gang")[0] is None
    assert rules("gang", {"name": "coscheduling"})[0] == GangRules()
    given = {"name": "coscheduling", "arguments": {"defaultMatchPolicy": "only-waiting", "defaultTimeout": "5s"}}
    assert rules(("gang",), (given,))[0] == GangRules(match_policy="only-waiting", waiting_seconds=5.0)


def test_without_gang_it_keeps_nothing_together() -> None:
    """And the configuration says so."""
    assert rules("coscheduling")[1] == [
        "tiers[0].plugins[0].name: coscheduling without gang: no minimum number of members is enforced"
    ]
    assert rules("coscheduling", "gang")[1] == []


def test_it_registers_nothing_where_there_is_no_gang() -> None:
    """A cluster without gangs pays for the question alone."""
    scenario = Scenario().queue("default").node("n").job("plain")
    session = open_session(scenario, plugins=("coscheduling",))
    assert [
        session.extensions.functions(point) for point in contract.ALL_POINTS if session.extensions.functions(point)
    ] == []
    assert session.extensions.annotations_for_plan([]) == {}


def test_only_members_are_ranked_and_refused() -> None:
    """Beside a gang, tasks of other jobs keep their order, and their jobs are valid."""
    scenario = Scenario().queue("default").node("n").job("plain", tasks=3)
    session = open_session(scenario.pod("p", annotations=annotated("a", 2)), plugins=("coscheduling",))
    plain, gang = sorted(session.jobs.all(), key=lambda job: job.id, reverse=True)
    assert [task.name for task in session.jobs.pending_tasks(plain)] == ["plain-0", "plain-1", "plain-2"]
    assert session.jobs.job_valid(plain) is None
    refusal = session.jobs.job_valid(gang)
    assert refusal is not None
    assert (refusal.plugin, refusal.reason, refusal.resolvable) == ("coscheduling", "GangNotComplete", False)
