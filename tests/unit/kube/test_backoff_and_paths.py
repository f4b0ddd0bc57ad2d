"""Back-off, the collector's guard, traffic, and paths."""

import asyncio
import gc
import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.kube.api import resources
from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.collector import collector_off, settle
from pyroclast.kube.writes.write_priority import WritePriority


@given(st.integers(0, 2**32), st.integers(1, 200))
def test_waits_stay_within_bounds(seed: int, failures: int) -> None:
    """Never longer than the cap, never shorter than the jitter allows, and no overflow after many failures."""
    backoff = Backoff(first_seconds=0.1, cap_seconds=30, jitter=0.5, chance=random.Random(seed))
    waits = [backoff.next_wait() for _ in range(failures)]

    assert all(0.05 <= wait <= 30 for wait in waits)
    assert all(wait >= 15 for wait in waits[10:])


def test_a_server_that_asks_for_patience_gets_it() -> None:
    """Retry-After counts when it is longer; success starts over."""
    backoff = Backoff(first_seconds=0.1, jitter=0.0)

    assert [backoff.next_wait(at_least=7), backoff.next_wait()] == [7, 0.2]
    backoff.reset()
    assert backoff.next_wait() == 0.1


def test_the_collector_is_off_until_the_last_user_leaves() -> None:
    """Lists and cycles overlap, in two threads."""
    inside, leave = threading.Event(), threading.Event()

    def list_in_thread() -> None:
        with collector_off():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=list_in_thread)
    with collector_off():
        thread.start()
        inside.wait(30)
    assert not gc.isenabled()
    leave.set()
    thread.join(30)

    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    """The guard gives back what it found."""
    gc.disable()
    try:
        with collector_off():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_settling_exempts_what_is_left() -> None:
    """Later collections do not walk it."""
    settle()

    assert gc.get_freeze_count() > 0
    gc.unfreeze()


async def test_courtesy_has_an_end() -> None:
    """What waits for binds does not wait for ever."""
    traffic = WritePriority()
    with traffic.bind():
        async with asyncio.timeout(30):
            await traffic.quiet(0.01)
        assert traffic.binding == 1

    assert traffic.binding == 0


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (resources.PODS.path("ns", "p", "binding"), "/api/v1/namespaces/ns/pods/p/binding"),
        (resources.NODES.path("", "n"), "/api/v1/nodes/n"),
        (resources.PODS.path("ns", "../../a b?c"), "/api/v1/namespaces/ns/pods/..%2F..%2Fa%20b%3Fc"),
        (resources.POD_GROUPS.collection("ns"), "/apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups"),
        (resources.QUEUES.collection(), "/apis/scheduling.volcano.sh/v1beta1/queues"),
    ],
)
def test_paths_are_those_of_the_api(path: str, expected: str) -> None:
    """Core and named groups, namespaced and not."""
    assert path == expected


def test_each_kind_is_listed_once() -> None:
    """No two entries for one path."""
    paths = [resource.collection() for resource in resources.ALL]

    assert len(set(paths)) == len(paths)
