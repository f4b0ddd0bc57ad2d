"""Resource quota: the worked example of docs/plugins/resourcequota.md."""

from typing import Any

import pytest

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Vote
from pyroclast.model import wire
from pyroclast.model.refusals import Refusal
from tests.unit.plugins.policies import World, acted, group, node, opened, pod

ELSEWHERE = wire.Affinity(pod_affinity=wire.PodAffinity(required=(wire.PodAffinityTerm(namespaces=("other",)),)))


def quota(
    name: str = "q",
    namespace: str = "ns",
    used: Any = None,
    scopes: tuple[str, ...] = (),
    selector: wire.ScopeSelector | None = None,
    **hard: Any,
) -> wire.ResourceQuota:
    """A quota."""
    return wire.ResourceQuota(
        metadata=wire.ObjectMeta(name=name, namespace=namespace, uid=name),
        spec=wire.ResourceQuotaSpec(scopes=scopes, scope_selector=selector),
        status=wire.ResourceQuotaStatus(hard=hard, used=used or {}),
    )


def waiting(name: str, **minimum: str) -> wire.PodGroup:
    """A group that waits at the gate."""
    return group(name, phase="Pending", min_resources=minimum)


def ask(there: World, name: str) -> Vote | Refusal:
    """What the plugin says of a group."""
    answer: Vote | Refusal = there.function(contract.JOB_ENQUEUEABLE, "resourcequota").function(there.job(name))
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
    assert [event.message for event in there.session.report.events] == [
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
    other: dict[str, Any] = {"requests.cpu": "1"}

    assert ask(world(quota(**other), waiting("a", cpu="2")), "a") is Vote.PERMIT


def test_every_quota_of_the_namespace_counts_and_no_other() -> None:
    """The tighter one refuses; that of another namespace does not."""
    assert isinstance(ask(world(quota("q", cpu="9"), quota("r", cpu="1"), waiting("a", cpu="2")), "a"), Refusal)
    assert ask(world(quota(namespace="other", cpu="1"), waiting("a", cpu="2")), "a") is Vote.PERMIT


def test_a_job_without_minimum_passes() -> None:
    """Nothing is compared."""
    assert ask(world(quota(cpu="0"), group("a", phase="Pending")), "a") is Vote.PERMIT


def test_pods_that_the_quota_counts_already_do_not_count_twice() -> None:
    """The group's one pod exists, so the server has counted its 3 CPU; a second group of 3 CPU has no pods yet."""
    pods = pod("a-0", job="a", cpu="3")
    there = world(quota(used={"cpu": "3"}, cpu="5"), waiting("a", cpu="3"), pods, waiting("b", cpu="3"))

    assert ask(there, "a") is Vote.PERMIT
    assert isinstance(ask(there, "b"), Refusal)


def test_several_jobs_with_pods_are_admitted_in_one_cycle() -> None:
    """Each is counted by the quota already, so that neither takes room from the other."""
    pods = pod("a-0", job="a", cpu="2"), pod("b-0", job="b", cpu="2")
    there = acted(world(quota(used={"cpu": "4"}, cpu="5"), waiting("a", cpu="2"), waiting("b", cpu="2"), *pods))

    assert [there.job(name).phase for name in "ab"] == ["Inqueue", "Inqueue"]


def test_only_the_part_without_pods_counts() -> None:
    """Pods with 3 of a minimum of 4 CPU exist: 1 is missing, and 1 is left."""
    pods = pod("a-0", job="a", cpu="3")

    assert ask(world(quota(used={"cpu": "4"}, cpu="5"), waiting("a", cpu="4"), pods), "a") is Vote.PERMIT
    assert isinstance(ask(world(quota(used={"cpu": "5"}, cpu="5"), waiting("a", cpu="4"), pods), "a"), Refusal)


def test_requests_limits_and_numbers_of_pods_are_counted_as_the_server_does() -> None:
    """Each name of a quota has its own use of a pod."""
    minimum: dict[str, Any] = {"requests.cpu": "1", "limits.cpu": "2", "pods": "1", "count/pods": "1"}
    resources = wire.ResourceRequirements(requests={"cpu": "1"}, limits={"cpu": "2"})
    pods = pod("a-0", job="a", cpu="", memory="", containers=[wire.Container(name="more", resources=resources)])

    assert ask(world(quota(used=minimum, **minimum), waiting("a", **minimum), pods), "a") is Vote.PERMIT
    for name in minimum:
        assert isinstance(ask(world(quota(used=minimum, **minimum), waiting("a", **{name: "3"}), pods), "a"), Refusal)


@pytest.mark.parametrize(
    ("scope", "spec", "concerns"),
    [
        ("Terminating", {"active_deadline_seconds": 9}, True),
        ("Terminating", {}, False),
        ("NotTerminating", {}, True),
        ("NotTerminating", {"active_deadline_seconds": 9}, False),
        ("BestEffort", {}, False),
        ("NotBestEffort", {}, True),
        ("PriorityClass", {"priority_class_name": "high"}, True),
        ("PriorityClass", {}, False),
        ("CrossNamespacePodAffinity", {}, False),
        ("CrossNamespacePodAffinity", {"affinity": ELSEWHERE}, True),
    ],
)
def test_a_quota_counts_the_pods_of_its_scopes(scope: str, spec: dict[str, Any], concerns: bool) -> None:
    """A full quota refuses only a job of whose pods it counts some."""
    scoped = quota(used={"cpu": "1"}, scopes=(scope,), cpu="1")
    there = world(scoped, waiting("a", cpu="2"), pod("a-0", job="a", cpu="1", spec=spec))

    assert isinstance(ask(there, "a"), Refusal) is concerns


@pytest.mark.parametrize(
    ("name", "operator", "concerns"), [("high", "In", True), ("low", "In", False), ("low", "NotIn", True)]
)
def test_without_pods_the_priority_class_of_the_group_counts(name: str, operator: str, concerns: bool) -> None:
    """Pods of a job take its class."""
    selector = wire.ScopeSelector(
        match_expressions=(
            wire.ScopedResourceSelectorRequirement(scope_name="PriorityClass", operator=operator, values=("high",)),
        )
    )
    waits = group("a", phase="Pending", min_resources={"cpu": "2"}, priority_class_name=name)
    there = world(quota(selector=selector, cpu="1"), waits)

    assert isinstance(ask(there, "a"), Refusal) is concerns
