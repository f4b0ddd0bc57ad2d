"""Rounds: what happens between two cycles."""

from typing import Any

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin
from pyroclast.model import wire
from pyroclast.testing import Scenario
from tests.unit.simulation.builders import answers, case, group, node, pod

ACTIONS = ("enqueue", "allocate", "backfill")
PLUGINS = ("priority", "gang", "conformance", "predicates", "nodeorder")


class Evict(Plugin):
    """A plugin that chooses victims for the action shuffle."""

    name = "evicting"

    def on_session_open(self, session: Any) -> None:
        """Choose every running pod of job `old` in the first cycle."""
        if session.cycle == 1:
            victims = list(session.jobs.get("default/old").tasks.values())
            session.extensions.register(contract.VICTIM_TASKS, self.name, lambda _tasks: victims)


def test_bound_pods_run_in_the_next_round() -> None:
    """Phases: Inqueue in the cycle that binds, Running in the next."""
    (answer,) = answers(case(nodes=[node("n1")], groups=[group()], pods=[pod("a")], rounds=2))
    first, second = answer["rounds"]

    assert (first["phases"], second["phases"]) == ({"ns/g": "Inqueue"}, {"ns/g": "Running"})
    assert second["taskStatusCounts"] == {"ns/g": {"Running": 1}}
    assert second["binds"] == {}


def test_every_round_reports_the_state() -> None:
    """Also when nothing changes any more and the daemon would not look again."""
    (answer,) = answers(case(nodes=[node("n1")], groups=[group()], pods=[pod("a", cpu=100)], rounds=4))

    assert [each["phases"] for each in answer["rounds"]] == [{"ns/g": "Inqueue"}] * 4
    assert all(each["podRefusals"] == answer["rounds"][0]["podRefusals"] for each in answer["rounds"])


def test_evicted_pods_are_gone() -> None:
    """Their room is free in the next round."""
    outcome = (
        Scenario()
        .node("n1", cpu=2)
        .running("old", on=["n1", "n1"])
        .job("new", tasks=2)
        .run(*ACTIONS, "shuffle", plugins=(Evict, *PLUGINS), cycles=2)
    )

    assert outcome.evictions == ["old-0", "old-1"]
    assert outcome.bindings == {"new-0": "n1", "new-1": "n1"}
    assert [len(each.pod_names) for each in outcome.rounds] == [4, 2]


def test_evicted_pods_come_back_where_asked() -> None:
    """Under their old names, pending, younger than before, with a UID of their own."""
    outcome = (
        Scenario()
        .node("n1", cpu=2)
        .running("old", on=["n1"])
        .run(*ACTIONS, "shuffle", plugins=(Evict, *PLUGINS), cycles=2, recreate_evicted=True)
    )
    (before,) = outcome.rounds[0].snapshot.jobs["default/old"].tasks.values()  # type: ignore[index]  # an id as text
    (after,) = outcome.rounds[1].snapshot.jobs["default/old"].tasks.values()  # type: ignore[index]  # an id as text

    assert outcome.evictions == ["old-0"]
    assert (after.name, after.node, after.status.label) == ("old-0", None, "Pending")
    assert after.id != before.id
    assert after.created > before.created
    assert outcome.bindings == {"old-0": "n1"}


def test_the_clock_moves_a_second_a_round() -> None:
    """Plugins see it in `session.now`."""
    seen: list[float] = []

    class Clock(Plugin):
        name = "clock"

        def on_session_open(self, session: Any) -> None:
            seen.append(session.now)

    Scenario().node("n1").run("allocate", plugins=(Clock,), cycles=3, now=1000.0)

    assert seen == [1000.0, 1001.0, 1002.0]


def test_what_a_cycle_writes_stands_in_the_objects() -> None:
    """Conditions of the group and of the pod are those of the cycle before, so nothing is written twice."""
    outcome = Scenario().node("n1", cpu=1).job("big", cpu=4).run(*ACTIONS, plugins=PLUGINS, cycles=2)
    first, second = (each.report for each in outcome.rounds)
    (job,) = outcome.rounds[1].snapshot.jobs.values()
    (task,) = job.tasks.values()

    assert [status.phase.value for status in first.group_statuses] == ["Inqueue"]
    assert [each.type for each in job.group.status.conditions] == ["Unschedulable"]
    assert [(each.type, each.status) for each in task.pod.status.conditions] == [("PodScheduled", "False")]
    assert second.group_statuses == ()
    assert second.pod_conditions == ()


def test_queue_status_follows_what_is_bound() -> None:
    """`status.allocated` of the queue, as quantities."""
    outcome = (
        Scenario()
        .queue("q")
        .node("n1")
        .job("a", queue="q", cpu="500m", memory="1Gi")
        .run(*ACTIONS, plugins=PLUGINS, cycles=3)
    )
    queue: wire.Queue | None = outcome.rounds[2].snapshot.queues["q"].object  # type: ignore[index]  # a name as text

    assert queue is not None
    assert dict(queue.status.allocated) == {"cpu": "500m", "memory": "1Gi", "pods": "1"}


def test_a_claim_is_bound_with_its_pod() -> None:
    """The volume that waits for its first user is the claim's in the next round."""
    storage = (
        {
            "kind": "StorageClass",
            "metadata": {"name": "late"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        {
            "kind": "PersistentVolume",
            "metadata": {"name": "v"},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "late"},
            "status": {"phase": "Available"},
        },
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "default"},
            "spec": {
                "storageClassName": "late",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
            "status": {"phase": "Pending"},
        },
    )
    volumes = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}
    outcome = Scenario().node("n1").add(*storage).job("a", pod=volumes).run(*ACTIONS, plugins=PLUGINS, cycles=2)
    objects = outcome.rounds[1].snapshot.objects

    assert outcome.bindings == {"a-0": "n1"}
    assert objects.volume_claims["default/data"].spec.volume_name == "v"
    assert objects.volumes["v"].spec.claim_ref is not None
    assert objects.volumes["v"].spec.claim_ref.name == "data"


def test_limits_of_volumes_hold_for_provisioned_volumes() -> None:
    """The volume made for a claim is of its class's driver, so that it counts in later rounds."""
    storage: list[dict[str, Any]] = [
        {
            "kind": "StorageClass",
            "metadata": {"name": "disk"},
            "provisioner": "disk.example.com",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        {
            "kind": "CSINode",
            "metadata": {"name": "n1"},
            "spec": {"drivers": [{"name": "disk.example.com", "nodeID": "n1", "allocatable": {"count": 1}}]},
        },
    ]
    claims = [
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "storageClassName": "disk",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
            "status": {"phase": "Pending"},
        }
        for name in ("first", "second")
    ]
    first, second = (
        {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": name}}]} for name in ("first", "second")
    )
    outcome = (
        Scenario()
        .node("n1")
        .add(*storage, *claims)
        .job("a", pod=first)
        .job("b", pod=second)
        .run(*ACTIONS, plugins=PLUGINS, cycles=3)
    )

    assert outcome.bindings == {"a-0": "n1"}
    assert "1 node(s) exceed max volume count" in outcome.why("b")
    (made,) = outcome.rounds[2].snapshot.objects.volumes.values()
    assert made.spec.csi is not None
    assert made.spec.csi.driver == "disk.example.com"
