"""Division of a cluster by weight: worked numbers of docs/plugins/proportion.md, and the law of rounds."""

from collections.abc import Sequence
from fractions import Fraction

import hypothesis.strategies as st
from hypothesis import given

from pyroclast.plugins.proportion.fair_share import deserved

MUCH = 10**18


def divided(
    total: Sequence[int],
    *queues: tuple[int, Sequence[int]],
    limits: Sequence[Sequence[int]] = (),
    guarantees: Sequence[Sequence[int]] = (),
) -> list[list[Fraction]]:
    """Divide among queues of (weight, request), without limits and guarantees unless given."""
    free, nothing = [MUCH] * len(total), [0] * len(total)
    return deserved(
        total,
        [weight for weight, _ in queues],
        limits or [free] * len(queues),
        [request for _, request in queues],
        guarantees or [nothing] * len(queues),
    )


def test_what_one_queue_leaves_flows_to_the_other() -> None:
    """Weights 1 and 3; the second is full at 4000, so the first has the rest of the CPU and all requested memory."""
    assert divided([10000, 10000], (1, [8000, 2000]), (3, [4000, 4000])) == [[6000, 2000], [4000, 4000]]


def test_a_guarantee_is_kept_though_it_is_not_used() -> None:
    """4000 guaranteed, 2000 requested: the other queue has 6000 of its 9000."""
    shares = divided([10000], (1, [2000]), (1, [9000]), limits=[[10000], [6000]], guarantees=[[4000], [0]])

    assert shares == [[4000], [6000]]


def test_the_rest_above_a_capability_stays_undistributed() -> None:
    """The same with the second queue held to 3000."""
    shares = divided([10000], (1, [2000]), (1, [9000]), limits=[[10000], [3000]], guarantees=[[4000], [0]])

    assert shares == [[4000], [3000]]


def test_shares_are_exact_fractions() -> None:
    """Weights 1, 1, 2 of 9000, the first requests 1000: a third and two thirds of 8000."""
    shares = divided([9000], (1, [1000]), (1, [9000]), (2, [9000]))

    assert shares == [[1000], [Fraction(8000, 3)], [Fraction(16000, 3)]]


def test_without_any_weight_no_queue_deserves_anything() -> None:
    """Guarantees included."""
    assert divided([9000], (0, [1000]), (0, [9000]), guarantees=[[500], [0]]) == [[0], [0]]


def test_a_queue_of_weight_0_has_its_guarantee_among_others() -> None:
    """And nothing more; what is guaranteed limits the other."""
    shares = divided([9000], (0, [1000]), (1, [9000]), limits=[[9000], [8500]], guarantees=[[500], [0]])

    assert shares == [[500], [8500]]


def test_guarantees_beyond_the_total_stand() -> None:
    """Nothing is left to pour."""
    assert divided([1000], (1, [900]), (1, [900]), guarantees=[[800], [800]]) == [[800], [800]]


def test_resources_are_divided_each_for_itself() -> None:
    """A queue that is full of one resource still shares the other."""
    assert divided([100, 100], (1, [10, 100]), (1, [100, 10])) == [[10, 90], [90, 10]]


ROUNDS = 400


def in_rounds(
    total: Sequence[int],
    weights: Sequence[int],
    limits: Sequence[Sequence[int]],
    requests: Sequence[Sequence[int]],
    guarantees: Sequence[Sequence[int]],
) -> list[list[Fraction]]:
    """Divide as Volcano does, round by round, with fractions in place of floats."""
    rows = range(len(total))
    given = [[Fraction(0)] * len(total) for _ in weights]
    remaining = [Fraction(amount) for amount in total]
    unmet = set(range(len(weights)))
    for _ in range(ROUNDS):
        weight = sum(weights[queue] for queue in unmet)
        if not weight:
            break
        before = list(remaining)
        poured = [Fraction(0)] * len(total)
        for queue in sorted(unmet):
            old = given[queue]
            new = [
                max(
                    min(
                        old[row] + before[row] * weights[queue] / weight,
                        Fraction(limits[queue][row]),
                        Fraction(requests[queue][row]),
                    ),
                    Fraction(guarantees[queue][row]),
                )
                for row in rows
            ]
            given[queue] = new
            poured = [poured[row] + new[row] - old[row] for row in rows]
            is_met = all(requests[queue][row] <= new[row] for row in rows)
            if is_met or new == old:
                unmet.discard(queue)
        remaining = [max(before[row] - poured[row], Fraction(0)) for row in rows]
        if remaining == before or not any(remaining):
            break
        # fractions that halve for ever are cut: what is left to pour moves nothing any more
        remaining = [Fraction(0) if amount < Fraction(1, 10**9) else amount for amount in remaining]
    return given


AMOUNTS = st.lists(st.integers(0, 50), min_size=2, max_size=2)
QUEUE = st.tuples(st.integers(0, 4), AMOUNTS, AMOUNTS, AMOUNTS)


@given(total=AMOUNTS, queues=st.lists(QUEUE, min_size=1, max_size=4))
def test_the_exact_division_is_the_limit_of_the_rounds(
    total: list[int], queues: list[tuple[int, list[int], list[int], list[int]]]
) -> None:
    """Weights, requests, limits and guarantees of any kind; a guarantee is never above the limit."""
    weights = [weight for weight, *_ in queues]
    requests = [request for _, request, _, _ in queues]
    guarantees = [guarantee for *_, guarantee in queues]
    limits = [
        [max(limit, least) for limit, least in zip(limited, guarantee, strict=True)]
        for _, _, limited, guarantee in queues
    ]
    exact = deserved(total, weights, limits, requests, guarantees)
    rounds = in_rounds(total, weights, limits, requests, guarantees)

    for one, other in zip(exact, rounds, strict=True):
        for amount, near in zip(one, other, strict=True):
            assert abs(amount - near) < Fraction(1, 10**6)


@given(total=AMOUNTS, queues=st.lists(QUEUE, min_size=1, max_size=4))
def test_no_queue_has_more_than_its_request_or_the_cluster(
    total: list[int], queues: list[tuple[int, list[int], list[int], list[int]]]
) -> None:
    """Without guarantees; and nothing is left while a queue with a weight could use it."""
    weights, requests = [each[0] for each in queues], [each[1] for each in queues]
    shares = divided(total, *((weight, request) for weight, request, *_ in queues))
    for row, amount in enumerate(total):
        given_out = sum((share[row] for share in shares), start=Fraction(0))
        could = sum(request[row] for weight, request in zip(weights, requests, strict=True) if weight)
        assert given_out == (min(amount, could) if any(weights) else 0)
    assert all(share[row] <= request[row] for share, request in zip(shares, requests, strict=True) for row in range(2))
