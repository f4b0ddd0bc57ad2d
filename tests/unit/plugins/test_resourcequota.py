"""Resource quota: the worked example of docs/plugins/resourcequota.md."""

from typing import Any

from framework import points
from framework.points import Vote
from model import wire
from model.refusals import Refusal
from tests.unit.plugins.policies import World, acted, group, node, opened


def quota(name: str = "q", namespace: str = "ns", used: Any = None, **hard: str) -> wire.ResourceQuota:
    """A quota."""
    return wire.ResourceQuota(
        metadata=wire.ObjectMeta(name=name, namespace=namespace, uid=name),
        status=wire.ResourceQuotaStatus(hard=hard, used=used or {}),
    )


def waiting(name: str, **minimum: str) -> wire.PodGroup:
    """A group that waits at the gate."""
    return group(name, phase="Pending", min_resources=minimum)


def ask(there: World, name: str) -> Vote | Refusal:
    """What the plugin says of a group."""
    answer: Vote | Refusal = there.function(points.JOB_ENQUEUEABLE, "resourcequota").function(there.job(name))
    return answer


def world(*objects: object, plugins: tuple[str, ...] = ("resourcequota",)) -> World:
    """A session with the plugin."""
    return opened(node("n"), *objects, plugins=plugins)


def test_the_second_job_finds_the_quota_taken() -> None:
    """The first was admitted in the same cycle, so no quota counts it yet."""
    there = acted(
        world(quota(cpu="1", memory="1G"), waiting("a", cpu="1", memory="1G"), waiting("b", cpu="1", memory="1G"))
    )

    assert [there.job(name).phase for name in "ab"] == ["Inqueue", "Pending"]
    assert [event.message for event in there.session.events] == [
        (
            "resource quota insufficient, requested: map[cpu:1 memory:1G], used: map[cpu:0 memory:0], "
            "limited: map[cpu:1 memory:1G]"
        )
    ]


def test_a_job_that_others_refuse_takes_nothing() -> None:
    """The first is too large for the cluster in devices, which overcommit tells."""
    first = waiting("a", cpu="1", **{"example.com/foo": "1"})
    there = acted(world(quota(cpu="1"), first, waiting("b", cpu="1"), plugins=("overcommit", "resourcequota")))

    assert [there.job(name).phase for name in "ab"] == ["Pending", "Inqueue"]


def test_what_is_used_counts() -> None:
    """Half of it is left."""
    there = world(quota(used={"cpu": "500m"}, cpu="1"), waiting("a", cpu="600m"), waiting("b", cpu="500m"))

    assert isinstance(ask(there, "a"), Refusal)
    assert ask(there, "b") is Vote.PERMIT


def test_names_are_compared_as_written() -> None:
    """A quota of requests.cpu says nothing about cpu."""
    assert ask(world(quota(**{"requests.cpu": "1"}), waiting("a", cpu="2")), "a") is Vote.PERMIT


def test_every_quota_of_the_namespace_counts_and_no_other() -> None:
    """The tighter one refuses; that of another namespace does not."""
    assert isinstance(ask(world(quota("q", cpu="9"), quota("r", cpu="1"), waiting("a", cpu="2")), "a"), Refusal)
    assert ask(world(quota(namespace="other", cpu="1"), waiting("a", cpu="2")), "a") is Vote.PERMIT


def test_a_job_without_minimum_passes() -> None:
    """Nothing is compared."""
    assert ask(world(quota(cpu="0"), group("a", phase="Pending")), "a") is Vote.PERMIT
