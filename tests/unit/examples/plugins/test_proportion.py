"""The example of docs/plugins/proportion.md."""

from collections.abc import Sequence
from fractions import Fraction

from pyroclast.plugins.proportion.fair_share import deserved
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import World, acted, bound, group, node, opened, pod, queue

MUCH = 10**18
THIRDS = {Fraction(1, 3): "⅓", Fraction(2, 3): "⅔"}


def shown(amount: Fraction) -> str:
    """An amount with its fraction."""
    whole = int(amount)
    return f"{whole}{THIRDS[amount - whole] if amount != whole else ''}"


def divided(total: Sequence[int], *queues: tuple[int, Sequence[int]], guaranteed: int = 0, most: int = MUCH) -> str:
    """What queues of (weight, request) deserve; the first may have a guarantee, the last a limit."""
    guarantees = [[guaranteed if number == 0 else 0] * len(total) for number in range(len(queues))]
    limits = [[MUCH] * len(total) for _ in queues]
    limits[-1] = [min(most, total[0] - guaranteed)] * len(total) if guaranteed else limits[-1]
    shares = deserved(total, [weight for weight, _ in queues], limits, [asked for _, asked in queues], guarantees)
    return "; ".join(" / ".join(shown(each) for each in share) for share in shares)


def overused(gib: int) -> bool:
    """Whether a queue that asks for all of 2 CPU and 4 GiB, and so deserves it, is with 2 CPU and so much memory."""
    running = pod("p", on="n", cpu="2", memory=f"{gib}Gi")
    rest = [pod("q", cpu="", memory=f"{4 - gib}Gi")] if gib < 4 else []
    there = opened(node("n", cpu="2", memory="4Gi"), running, *rest, plugins=["proportion"])
    return there.session.queues.overused(there.queue("default")) is not None


def gated(memory: str) -> World:
    """A job of 1 CPU and so much memory at the gate of a queue of 2 CPU / 2 GB that has 1 CPU / 2 GB."""
    needs = {"cpu": "1", **({"memory": memory} if memory else {})}
    return acted(
        opened(
            node("n", cpu="4", memory="4G"),
            queue("q", capability={"cpu": "2", "memory": "2G"}),
            group("old", queue="q", phase="Running", min_resources={"cpu": "1", "memory": "2G"}),
            pod("r", job="old", on="n", cpu="1", memory="2G"),
            group("new", queue="q", phase="Pending", min_resources=needs),
            pod("p", job="new", cpu="1", memory=memory),
            plugins=["gang", "proportion"],
        )
    )


def test_the_page() -> None:
    """The division, overuse, and the gate."""
    two = ((1, [2000]), (1, [9000]))
    assert (overused(2), overused(4)) == (False, True)
    assert set(bound(gated(""))) == {"p"}
    (refused,) = gated("1G").session.report.events
    words = refused.message.partition(". ")[0].partition(": ")[2]

    assert_tells(
        "plugins/proportion",
        "| 10000 CPU, 10000 memory | 1, 8000 / 2000; 3, 4000 / 4000 "
        f"| {divided([10000, 10000], (1, [8000, 2000]), (3, [4000, 4000]))} |",
        f"| 10000 | 1, 2000 with 4000 guaranteed; 1, 9000 | {divided([10000], *two, guaranteed=4000)} |",
        f"| 10000 | the same, the second with a capability of 3000 "
        f"| {divided([10000], *two, guaranteed=4000, most=3000)} |",
        f"| 9000 | 1, 1000; 1, 9000; 2, 9000 | {divided([9000], (1, [1000]), (1, [9000]), (2, [9000]))} |",
        "A queue that deserves 2 CPU and 4 GiB is not overused with 2 CPU and 2 GiB, with 4 GiB it is.",
        "4 CPU and 4 GB; a queue has a capability of 2 CPU / 2 GB and runs 1 CPU / 2 GB. "
        "A job of 1 CPU passes and runs; "
        f"one of 1 CPU and 1 GB is refused with `{words}`.",
    )
