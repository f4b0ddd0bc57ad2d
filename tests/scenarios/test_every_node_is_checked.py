"""Every node is looked at, also of a thousand: what the last one offers is found, and "no node fits" is true."""

from pyroclast.testing import Scenario

CLUSTER = Scenario()
for number in range(999):
    CLUSTER = CLUSTER.node(f"n{number:03}", cpu=1)
CLUSTER = CLUSTER.node("n999", cpu=4)


def test_the_only_node_that_fits_is_found() -> None:
    """It is the last of a thousand."""
    assert CLUSTER.job("big", cpu=4).run("allocate", plugins=("gang", "predicates")).bindings == {"big-0": "n999"}


def test_a_refusal_has_counted_every_node() -> None:
    """No node is left out of the sum."""
    outcome = CLUSTER.job("big", cpu=5).run("allocate", plugins=("gang", "predicates"))

    assert (
        "0/1000 nodes are unavailable: 1000 Insufficient cpu. It can never run: the largest node has 4 cpu."
        in outcome.why("big")
    )
