"""The status of Koordinator's PodGroups, by how their members fare."""

from dataclasses import replace

import msgspec
import pytest

from pyroclast.controllers.gangs.decide import GangMembers, count, decide
from pyroclast.model.api.meta import ObjectMeta, OwnerReference
from pyroclast.model.wire import GangPodGroup, GangPodGroupSpec, GangPodGroupStatus, Pod, PodSpec, PodStatus
from pyroclast.model.wire import ObjectMeta as WireMeta

NOW = 1_800_000_000.0
BEGUN = "2027-01-15T08:00:00Z"
"""The same moment."""


def group(phase: str = "", *, minimum: int = 2, made: str = "2027-01-15T07:00:00Z", **status: object) -> GangPodGroup:
    """A group that asks for two."""
    told = msgspec.convert({"phase": phase, **status}, GangPodGroupStatus)
    return GangPodGroup(
        metadata=WireMeta(name="g", namespace="ml", creation_timestamp=made),
        spec=GangPodGroupSpec(min_member=minimum),
        status=told,
    )


def decided(before: GangPodGroup, members: GangMembers) -> str:
    """The phase that comes of members."""
    return decide(before, members, NOW).phase


def test_the_life_of_a_group() -> None:
    """Each step begins where the last one ended; nothing changes twice."""
    at = group()
    for members, phase in (
        (GangMembers(), "Pending"),
        (GangMembers(pods=1), "Pending"),
        (GangMembers(pods=2, owners="ml/job"), "Scheduling"),
        (GangMembers(pods=3, scheduled=1), "Scheduling"),
        (GangMembers(pods=3, scheduled=2), "Scheduled"),
        (GangMembers(pods=3, scheduled=2, running=1), "Scheduled"),
        (GangMembers(pods=3, scheduled=2, running=2), "Running"),
        (GangMembers(pods=3, scheduled=2, running=1, succeeded=1), "Running"),
        (GangMembers(pods=3, scheduled=2, succeeded=2), "Finished"),
        (GangMembers(), "Finished"),
    ):
        status = decide(at, members, NOW)
        assert status.phase == phase, members
        at = msgspec.structs.replace(at, status=status)
        assert decide(at, members, NOW + 60) == status
    assert at.status.occupied_by == "ml/job"
    assert at.status.schedule_start_time == BEGUN


def test_counts_are_reported() -> None:
    """The number of all members, ended ones among them."""
    members = GangMembers(pods=4, scheduled=3, running=2, succeeded=1, owners="ml/a,ml/b")
    assert decide(group("Pending"), members, NOW) == GangPodGroupStatus(
        phase="Running",
        occupied_by="ml/a,ml/b",
        scheduled=3,
        running=2,
        succeeded=1,
        schedule_start_time=BEGUN,
    )


@pytest.mark.parametrize("phase", ["PreScheduling", "Scheduling", "Scheduled", "Running", "Unknown", "odd"])
def test_without_pods_it_begins_again(phase: str) -> None:
    """Counts are gone with them."""
    status = decide(group(phase, scheduled=2, running=2, occupiedBy="ml/a"), GangMembers(), NOW)
    assert status == GangPodGroupStatus(phase="Pending")


def test_failures() -> None:
    """One is enough where as many as the minimum run or have ended; what is missing may still come otherwise."""
    assert decided(group("Running"), GangMembers(pods=2, scheduled=2, running=1, failed=1)) == "Failed"
    assert (
        decided(group("Scheduling", minimum=3), GangMembers(pods=3, scheduled=2, running=1, failed=1)) == "Scheduling"
    )
    assert decided(group("Running"), GangMembers(pods=3, scheduled=3, succeeded=2, failed=1)) == "Finished"
    assert decided(group("Failed"), GangMembers(pods=2, scheduled=2, running=2)) == "Failed"


def test_a_minimum_of_nothing_begins_nothing() -> None:
    """Also one that was lowered to it."""
    assert decided(group(minimum=0), GangMembers(pods=3, scheduled=3)) == "Pending"
    assert decided(group("Scheduling", minimum=0), GangMembers(pods=1)) == "Running"


@pytest.mark.parametrize(
    ("begun", "running", "is_left"),
    [
        ("2027-01-17T07:00:01Z", 0, True),
        ("2027-01-17T07:00:00Z", 0, False),
        ("2027-01-17T07:00:01Z", 1, False),
        ("no time", 0, False),
        ("", 0, False),
    ],
)
def test_forgotten_groups_are_left_alone(begun: str, running: int, is_left: bool) -> None:
    """Placed 48 hours after they were made, and nothing of them runs."""
    before = group("Scheduled", scheduled=2, running=running, scheduleStartTime=begun)
    after = decide(before, GangMembers(pods=2, scheduled=2, succeeded=2), NOW)
    assert (after == before.status) is is_left


def pod(name: str, phase: str, *, node: str = "", owner: str = "", namespace: str = "ml") -> Pod:
    """A member."""
    owners = (OwnerReference(api_version="v1", kind="X", name=owner, uid="u", controller=True),) if owner else ()
    return Pod(
        metadata=ObjectMeta(name=name, namespace=namespace, owner_references=owners),
        spec=PodSpec(node_name=node),
        status=PodStatus(phase=phase),
    )


def test_members_are_counted() -> None:
    """Members by phase and node; controllers are named once."""
    pods = [
        pod("a", "Running", node="n", owner="z"),
        pod("b", "Pending", node="n", owner="z"),
        pod("c", "Pending"),
        pod("d", "Failed", node="n", owner="b"),
        pod("e", "Succeeded", node="n"),
    ]
    found = count(pods)
    assert found == GangMembers(pods=5, scheduled=4, running=1, succeeded=1, failed=1, owners="ml/b,ml/z")
    assert count([]) == replace(found, pods=0, scheduled=0, running=0, succeeded=0, failed=0, owners="")
