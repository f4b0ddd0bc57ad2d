"""S3: a gang that lost a member gets the room that it lacks, before fresh work of its rank (Volcano issue 5805)."""

import pytest

from pyroclast.testing import Outcome, Scenario

ACTIONS = ("enqueue", "allocate", "backfill")
PLUGINS = (("priority", "gang", "conformance"), ("overcommit", "drf", "predicates", "proportion", "nodeorder"))
GPU = "nvidia.com/gpu"


def cluster(*, fresh_first: bool, urgent: bool = False) -> Scenario:
    """Return two nodes with a GPU each: one runs a member of the gang, the other has come back; two fresh jobs wait."""
    scenario = Scenario().priority_class("high", 100).node("n1", gpu=1).node("n2", gpu=1)

    def with_gang(base: Scenario) -> Scenario:
        return base.job("gang", tasks=2, cpu=None, gpu=1, running_on=["n1"])

    def with_fresh(base: Scenario) -> Scenario:
        first = base.job("f1", cpu=None, gpu=1, priority_class="high" if urgent else "")
        return first.job("f2", cpu=None, gpu=1)

    return with_gang(with_fresh(scenario)) if fresh_first else with_fresh(with_gang(scenario))


def decide(scenario: Scenario) -> Outcome:
    """Run the default configuration to rest."""
    return scenario.run(*ACTIONS, plugins=PLUGINS, cycles=5)


@pytest.mark.parametrize("fresh_first", [False, True])
def test_the_gang_is_made_whole(fresh_first: bool) -> None:
    """The earliest job."""
    outcome = decide(cluster(fresh_first=fresh_first))

    assert outcome.bindings == {"gang-1": "n2"}
    assert outcome.is_at_rest


def test_new_jobs_get_a_message_about_full_nodes() -> None:
    """The queue, which is the cluster, would have 3 GPUs of 2; no node has one left; the gang has them."""
    outcome = decide(cluster(fresh_first=True))

    for name in ("f1", "f2"):
        queue, nodes = outcome.refusals_of_pod(f"{name}-0")
        assert (queue.reason, queue.amounts) == ("QueueOverDeserved", {GPU: (3000, 2000)})
        assert (nodes.reason, nodes.counts, nodes.amounts) == (
            "NoNodeFits",
            {f"Insufficient {GPU}": 2},
            {GPU: (1000, 0)},
        )
        (verdict,) = outcome.refusals(name)
        assert verdict.fits_when == ("default/gang",)


def test_more_urgent_work_goes_first_and_the_gang_says_that_it_is_broken() -> None:
    """Rank counts before repair; capacity that the broken gang holds is reported."""
    outcome = decide(cluster(fresh_first=True, urgent=True))

    assert outcome.bindings == {"f1-0": "n2"}
    assert "the gang is broken and holds 1 nvidia.com/gpu that it cannot use" in outcome.why("gang")
    assert outcome.why("gang").endswith("fits when default/f1 ends")
    assert outcome.phases["gang"] == "Unknown"
