"""Overcommit: worked numbers of docs/plugins/overcommit.md."""

from typing import Any

import numpy as np
import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Vote
from pyroclast.model import wire
from pyroclast.model.refusals import Refusal
from pyroclast.plugins.overcommit import OvercommitArgs, budget_of
from tests.unit.plugins.policies import World, acted, group, node, opened, pod

CLUSTER = node("n1", cpu="2", memory="4Gi"), node("n2", cpu="4", memory="16Gi")
ADMITTED = group("first", min_resources={"cpu": "2000m", "memory": "2G"})


def waiting(name: str = "new", cpu: str = "2", **resources: str) -> wire.PodGroup:
    """A group that waits at the gate."""
    return group(name, phase="Pending", min_resources={"cpu": cpu, **resources})


def world(*objects: Any, **arguments: Any) -> World:
    """A session with overcommit alone, on six CPU."""
    raw = {f"overcommit-{key}": value for key, value in arguments.items()}
    return opened(*CLUSTER, *objects, plugins=[{"name": "overcommit", "arguments": raw}])


def ask(there: World, name: str = "new") -> Vote | Refusal:
    """What the plugin says of a group."""
    answer: Vote | Refusal = there.function(contract.JOB_ENQUEUEABLE).function(there.job(name))
    return answer


def test_a_job_that_fits_beside_the_admitted_passes() -> None:
    """2 + 2 of 7.2 CPU; and once it has passed 4 + 2."""
    there = world(ADMITTED, waiting(), waiting("next"))
    assert ask(there) is Vote.PERMIT
    there.session.jobs.job_enqueued(there.job("new"))

    assert ask(there, "next") is Vote.PERMIT


def test_the_budget_runs_out() -> None:
    """Three jobs of 2 CPU make 6 of 7.2, a fourth would make 8."""
    names = ["a", "b", "c", "d"]
    there = acted(world(*(waiting(name) for name in names)))

    assert [there.job(name).phase for name in names] == ["Inqueue", "Inqueue", "Inqueue", "Pending"]


def test_a_job_that_is_too_large_is_refused_by_name() -> None:
    """20 CPU; memory of which there is enough is not named."""
    answer = ask(world(ADMITTED, waiting(cpu="20", memory="1Gi")))

    assert isinstance(answer, Refusal)
    assert answer.message == "resource in cluster is overused: overused cpu"


def test_all_that_is_short_is_named() -> None:
    """In the order of the resources."""
    answer = ask(world(waiting(cpu="20", memory="1Ti")))

    assert isinstance(answer, Refusal)
    assert answer.message == "resource in cluster is overused: overused cpu, overused memory"


def test_what_the_cluster_does_not_offer_is_overused() -> None:
    """A device that no node has."""
    answer = ask(world(waiting(cpu="1", **{"example.com/foo": "1"})))

    assert isinstance(answer, Refusal)
    assert answer.message.endswith("overused example.com/foo")


def test_a_refused_job_gets_an_event() -> None:
    """As an event on its group."""
    there = acted(world(waiting(cpu="20")))

    assert [(event.type, event.reason, event.message) for event in there.session.report.events] == [
        (
            "Normal",
            "Unschedulable",
            (
                "resource in cluster is overused: overused cpu. the cluster times 1.2: 0 of 7200m cpu used; "
                "requested 20; the job can never run: its minimum exceeds the limit"
            ),
        )
    ]


def test_jobs_without_minimum_pass() -> None:
    """Nothing is compared; neither are resources that it does not request."""
    there = world(group("new", phase="Pending"), waiting("zero", cpu="0"), pod("r", on="n1", cpu="100"))

    assert ask(there) is Vote.PERMIT
    assert ask(there, "zero") is Vote.PERMIT


def test_what_runs_counts_against_the_budget() -> None:
    """4 of 7.2 CPU are used, a releasing pod's included: 3 fit, 4 do not."""
    running = pod("r", on="n2", cpu="2"), pod("l", on="n1", cpu="2", leaving=True)

    assert ask(world(*running, waiting(cpu="3"))) is Vote.PERMIT
    assert isinstance(ask(world(*running, waiting(cpu="4"))), Refusal)


def test_an_admitted_job_counts_in_full_though_part_of_it_runs() -> None:
    """4 admitted and 2 of these used: 1.2 left, not 3.2."""
    half = group("half", minimum=2, min_resources={"cpu": "4"}), pod("r", job="half", on="n2", cpu="2")

    assert isinstance(ask(world(*half, waiting(cpu="2"))), Refusal)
    assert ask(world(*half, waiting(cpu="1"))) is Vote.PERMIT


@pytest.mark.parametrize(("minimum", "fits"), [(1, "3200m"), (2, "5200m")])
def test_a_running_job_keeps_what_it_lacks_when_it_has_its_minimum(minimum: int, fits: str) -> None:
    """It has 2 of 4 CPU: the other 2 are reserved where its minimum runs, else not."""
    half = (
        group("half", minimum=minimum, phase="Running", min_resources={"cpu": "4"}),
        pod("r", job="half", on="n2", cpu="2"),
    )
    more = f"{int(fits[:-1]) + 1}m"

    assert ask(world(*half, waiting(cpu=fits))) is Vote.PERMIT
    assert isinstance(ask(world(*half, waiting(cpu=more))), Refusal)


def test_gated_tasks_are_not_reserved_for() -> None:
    """2 of the 6 admitted CPU belong to a gated task: 3.2 are left."""
    gated = pod("g", job="half", cpu="2", spec={"scheduling_gates": (wire.PodSchedulingGate(name="later"),)})
    half = group("half", min_resources={"cpu": "6"})

    assert ask(world(half, gated, waiting(cpu="3"))) is Vote.PERMIT
    assert isinstance(ask(world(half, waiting(cpu="3"))), Refusal)


@pytest.mark.parametrize(("factor", "cpu"), [(1.0, 6), (1, 6), (1.5, 9), ("2.0", 12)])
def test_the_factor_stretches_the_cluster(factor: object, cpu: int) -> None:
    """Exactly so much and not one more."""
    assert ask(world(waiting(cpu=str(cpu)), factor=factor)) is Vote.PERMIT
    assert isinstance(ask(world(waiting(cpu=f"{cpu}001m"), factor=factor)), Refusal)


def test_a_factor_below_one_warns_and_is_the_default() -> None:
    """0.8 reads as 1.2."""
    args, warnings = decode(OvercommitArgs, {"overcommit-factor": 0.8}, "arguments")

    assert args.factor == 1.2
    assert warnings == ["arguments.overcommit-factor: got 0.8, expected at least 1.0; the default 1.2 is kept"]


def test_the_factor_is_the_decimal_that_was_written() -> None:
    """1.2 is six fifths, which no binary float is."""
    assert budget_of(np.array([10**15, 5]), 1.2) == [1_200_000_000_000_000, 6]
