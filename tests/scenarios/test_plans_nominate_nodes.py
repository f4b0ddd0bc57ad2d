"""Every plan that evicts nominates the node of its beneficiary, also where victims ask for nothing."""

import pytest

from pyroclast.testing import Scenario


@pytest.mark.parametrize("cpu", [None, 1])
def test_the_pod_gets_its_nominated_node(cpu: int | None) -> None:
    """The node takes one pod, so one must go for the other, whatever they ask for."""
    outcome = (
        Scenario()
        .priority_class("high", 10)
        .node("n", cpu=4, pods=1)
        .running("low", on=["n"], cpu=cpu)
        .job("high", cpu=cpu, priority_class="high", phase="Inqueue")
        .run("preempt", plugins=(("priority", "conformance"), ("predicates",)))
    )

    assert outcome.evictions == ["low-0"]
    assert {each.name: each.nominated_node for each in outcome.report.pod_conditions} == {"high-0": "n"}
