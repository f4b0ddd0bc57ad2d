"""A share that divides without a rest is given out to the last byte, and stays what it is."""

from collections import Counter

from pyroclast.testing import Scenario


def test_a_third_of_24_gi_is_8_gi_in_every_cycle() -> None:
    """Three queues ask for more than there is: each runs 8 pods of 1Gi, no more and no less, and then all rest."""
    scenario = Scenario().node("n", cpu=64, memory="24Gi")
    for name in ("a", "b", "c"):
        scenario = scenario.queue(name).job(name, tasks=12, min_available=1, queue=name, cpu="100m", memory="1Gi")

    outcome = scenario.run("enqueue", "allocate", "backfill", plugins=("gang", "proportion", "predicates"), cycles=5)

    assert Counter(pod[0] for pod in outcome.bindings) == {"a": 8, "b": 8, "c": 8}
    assert outcome.is_at_rest
