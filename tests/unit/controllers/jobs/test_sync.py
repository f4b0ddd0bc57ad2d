"""What a Job makes, and what keeps it from making anything."""

import asyncio
import copy

import pytest

from pyroclast.controllers.runtime.writer import NameTakenError
from pyroclast.kube.api.errors import ApiError
from tests.unit.controllers.jobs.world import NAMESPACE, World, policy, task


def test_defaults_are_filled_in_where_no_webhook_did() -> None:
    """Names of tasks, the gang's size, the scheduler: as admission would."""
    world = World()
    nameless = task()
    del nameless["name"]
    world.job("job", nameless)
    world.run()
    assert world.pods() == ["job-default0-0", "job-default0-1"]
    assert world.pod("job-default0-0")["spec"]["schedulerName"] == "volcano"
    group = world.group()
    assert group is not None
    assert group["spec"]["minMember"] == 2
    assert "minAvailable" not in world.objects["jobs", NAMESPACE, "job"]["spec"]


def test_what_admission_would_refuse_is_refused() -> None:
    """Event and state say why; mended, the Job begins."""
    world = World()
    world.job("job", task(minAvailable=5))
    world.run()
    assert world.group() is None
    state = world.status()["state"]
    assert (state["phase"], state["reason"]) == ("Pending", "Invalid")
    assert "'minAvailable' is greater than 'replicas'" in state["message"]
    assert ("Warning", "Invalid", state["message"]) in world.events
    world.change_job(tasks=[task()])
    world.run()
    assert world.pods()
    assert "reason" not in world.status()["state"]


def test_a_queue_that_is_missing_is_waited_for() -> None:
    """Volcano terminates such a Job after some minutes."""
    world = World()
    world.job(queue="later")
    world.run()
    world.wait(86_400)
    world.run()
    assert world.phase() == "Pending"
    assert "unable to find job queue" in world.status()["state"]["message"]
    world.queue("later")
    world.run()
    assert world.pods()


def test_a_queue_that_goes_away_stops_nothing_that_runs() -> None:
    """Nothing is made meanwhile, and an event says so."""
    world = World()
    world.job()
    world.run()
    world.set_pods("Running")
    world.run()
    world.remove("queues", "", "default")
    world.evict("job-worker-0")
    world.run()
    assert world.pods() == ["job-worker-1"]
    assert any("queue default is not found" in message for _, _, message in world.events)
    world.queue("default")
    world.run()
    assert len(world.pods()) == 2


def test_a_closed_queue_takes_no_new_job() -> None:
    """One that is there already goes on; the queue of a new one is given two seconds to be seen as it is."""
    world = World()
    world.job("old")
    world.run("old")
    world.queue("default", state="Closed")
    world.job("new")
    assert world.run("new") == 2.0
    assert world.phase("new") == ""
    world.wait(2.0)
    world.run("new")
    world.run("old")
    assert world.phase("new") == "Pending"
    assert "Open" in world.status("new")["state"]["message"]
    assert world.pods() == ["old-worker-0", "old-worker-1"]


def test_a_claim_is_made_once() -> None:
    """Its name follows from the Job, stands in the spec, and is mounted."""
    world = World()
    world.job(volumes=[{"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}])
    world.run()
    (claim,) = [at[2] for at in world.objects if at[0] == "persistentvolumeclaims"]
    assert claim.startswith("job-pvc-")
    assert len(claim) == len("job-pvc-") + 12
    assert world.objects["jobs", NAMESPACE, "job"]["spec"]["volumes"][0]["volumeClaimName"] == claim
    assert world.status()["controlledResources"][f"volume-pvc-{claim}"] == claim
    volumes = world.pod("job-worker-0")["spec"]["volumes"]
    assert [volume["persistentVolumeClaim"]["claimName"] for volume in volumes] == [claim]


def test_a_claim_keeps_its_name_when_the_manifest_is_applied_again() -> None:
    """The list of volumes is replaced, and the name that was filled in goes; pods made from then on need it."""
    volumes = [{"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}]
    world = World()
    world.job(volumes=copy.deepcopy(volumes))
    world.run()
    world.set_pods("Running")
    world.run()
    named = world.objects["jobs", NAMESPACE, "job"]["spec"]["volumes"]
    mounted = world.pod("job-worker-0")["spec"]["volumes"]
    world.change_job(volumes=copy.deepcopy(volumes))
    world.evict("job-worker-0")
    world.run()
    assert world.objects["jobs", NAMESPACE, "job"]["spec"]["volumes"] == named
    assert world.pod("job-worker-0")["spec"]["volumes"] == mounted
    assert len([at for at in world.objects if at[0] == "persistentvolumeclaims"]) == 1


def test_a_claim_that_is_missing_is_waited_for() -> None:
    """Nothing is made before, an event says why."""
    world = World()
    world.job(volumes=[{"mountPath": "/data", "volumeClaimName": "mine"}])
    world.run()
    assert world.group() is None
    assert ("Warning", "PVCError") in {event[:2] for event in world.events}
    world.put("persistentvolumeclaims", {"metadata": {"name": "mine", "namespace": NAMESPACE}, "spec": {}})
    world.run()
    assert len(world.pods()) == 2


def test_a_task_waits_for_those_it_depends_on() -> None:
    """Its pods are made when enough of the others run and are ready."""
    world = World()
    world.job(
        "job", task("master", 2, minAvailable=1), task("worker", 1, dependsOn={"name": ["master"]}), minAvailable=1
    )
    world.run()
    assert world.pods() == ["job-master-0", "job-master-1"]
    world.set_pod("job-master-1", "Running")
    world.run()
    assert world.pods() == ["job-master-0", "job-master-1", "job-worker-0"]


def test_any_of_several_is_enough() -> None:
    """With `all`, which is the default, both must have started."""
    for iteration, is_made in (("any", True), ("all", False), ("", False)):
        world = World()
        waits = {"name": ["a", "b"], "iteration": iteration}
        world.job("job", task("a", 1), task("b", 1), task("c", 1, dependsOn=waits))
        world.run()
        world.set_pod("job-a-0", "Running")
        world.run()
        assert ("job-c-0" in world.pods()) is is_made


def test_scaling_adjusts_pods_group_and_hosts() -> None:
    """New indexes are made, surplus ones deleted; the others learn of it."""
    world = World()
    world.job("job", task(replicas=2, minAvailable=1), minAvailable=1, plugins={"svc": []})
    world.run()
    world.set_pods("Running")
    world.run()
    world.scale("worker", 3)
    world.run()
    assert world.pods() == ["job-worker-0", "job-worker-1", "job-worker-2"]
    hosts = world.objects["configmaps", NAMESPACE, "job-svc"]["data"]
    assert hosts["VC_WORKER_NUM"] == "3"
    world.scale("worker", 1)
    world.run()
    assert world.pods() == ["job-worker-0"]
    assert world.objects["configmaps", NAMESPACE, "job-svc"]["data"]["VC_WORKER_NUM"] == "1"


def test_objects_of_plugins_live_as_long_as_the_job_runs() -> None:
    """They are named in the status, and gone when it is over."""
    world = World()
    world.job(plugins={"svc": [], "env": []})
    world.run()
    assert world.owned() == [("configmaps", "job-svc"), ("networkpolicies", "job"), ("services", "job")]
    assert world.status()["controlledResources"]["plugin-svc"] == "svc"
    world.set_pods("Running")
    world.run()
    world.set_pods("Succeeded")
    world.run()
    assert world.phase() == "Completed"
    assert world.owned() == []
    assert "plugin-svc" not in world.status().get("controlledResources", {})


def test_an_object_that_cannot_be_deleted_holds_nothing_else_up() -> None:
    """The Job ends, the others go; it is remembered and tried again."""
    world = World()
    world.job(plugins={"svc": []})
    world.run()
    world.refusals["services"] = ApiError(403, "Forbidden", "not yours")
    world.command("TerminateJob")
    world.run()
    assert (world.phase(), world.group(), world.pods()) == ("Terminated", None, [])
    assert world.owned() == [("services", "job")]
    assert world.status()["controlledResources"]["plugin-svc"] == "svc"
    assert ("Warning", "PluginError") in {event[:2] for event in world.events}
    world.refusals.clear()
    world.run()
    assert world.owned() == []
    assert "plugin-svc" not in world.status().get("controlledResources", {})


def test_an_existing_name_is_reported() -> None:
    """Another's pod of the same name stays; the owner of the Job gets an event."""
    world = World()
    other = {"metadata": {"name": "job-worker-0", "namespace": NAMESPACE}, "spec": {}, "status": {"phase": "Running"}}
    world.put("pods", other)
    world.job()
    with pytest.raises(NameTakenError, match="is there already"):
        world.run()
    assert any(reason == "FailedCreate" for reason in world.reasons())
    assert "job-worker-1" in world.pods()


def test_a_host_list_that_is_refused_keeps_no_pod_alive() -> None:
    """Unneeded pods are deleted all the same, and the owner gets an event about the refusal."""
    world = World()
    world.job("job", task("worker", 8), plugins={"svc": []}, minAvailable=1)
    world.run()
    world.set_pods("Running")
    world.run()
    world.refusals["configmaps"] = ApiError(403, "Forbidden", "not yours")
    world.scale("worker", 1)
    world.run()

    assert world.pods() == ["job-worker-0"]
    assert "PluginError" in world.reasons()


def test_a_server_that_refuses_pods_is_asked_again() -> None:
    """An exhausted quota is reported, and nothing is given up."""
    world = World()
    world.job()
    world.refusals["pods"] = ApiError(403, "Forbidden", "exceeded quota")
    world.run()
    assert world.phase() == "Pending"
    assert any(reason == "FailedCreate" and "exceeded quota" in message for _, reason, message in world.events)
    world.refusals.clear()
    world.run()
    assert len(world.pods()) == 2


def test_one_forbidden_answer_applies_to_all_pods() -> None:
    """A Job of many pods does not press a quota that is used up with each of them."""
    world = World()
    world.job("job", task(replicas=50, minAvailable=50))
    world.refusals["pods"] = ApiError(403, "Forbidden", "exceeded quota")
    world.run()
    before = world.writes
    with pytest.raises(ApiError, match="exceeded quota"):
        asyncio.run(world.step())
    assert world.writes == before + 1


def test_a_queue_of_other_clusters_marks_the_job() -> None:
    """Job and pods say that they may be forwarded."""
    world = World()
    world.queue("default", extendClusters=[{"name": "far"}])
    world.job()
    world.run()
    job = world.objects["jobs", NAMESPACE, "job"]
    assert job["metadata"]["annotations"]["volcano.sh/job-forwarding"] == "true"
    assert world.pod("job-worker-0")["metadata"]["labels"]["volcano.sh/job-forwarding"] == "true"


def test_a_group_that_is_deleted_is_made_again() -> None:
    """The running pods stay."""
    world = World()
    world.job()
    world.run()
    world.set_pods("Running")
    world.run()
    world.remove("podgroups", NAMESPACE, "job-uid-job")
    world.run()
    assert world.group() is not None
    assert len(world.pods()) == 2


def test_a_group_from_before_is_used() -> None:
    """Old Jobs have a group of their own name."""
    world = World()
    owner = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "job",
        "uid": "uid-job",
        "controller": True,
    }
    metadata = {"name": "job", "namespace": NAMESPACE, "ownerReferences": [owner]}
    world.put("podgroups", {"metadata": metadata, "spec": {"minMember": 2}, "status": {"phase": "Inqueue"}})
    world.job()
    world.run()
    assert world.group() is None
    assert len(world.pods()) == 2


def test_counters_of_a_finished_job_stay() -> None:
    """Volcano's fall to zero once such a Job is looked at again."""
    world = World()
    world.job(minSuccess=1)
    world.run()
    world.set_pods("Running")
    world.run()
    world.set_pod("job-worker-0", "Succeeded")
    world.run()
    assert world.phase() == "Completed"
    world.run()
    status = world.status()
    assert status["succeeded"] == 1
    assert status.get("running", 0) == 0
    assert world.pods() == ["job-worker-0"]


def test_nothing_is_written_when_nothing_changes() -> None:
    """A Job at rest costs reads of memory alone."""
    world = World()
    world.job(plugins={"svc": []}, policies=[policy("RestartJob", "PodEvicted")])
    world.run()
    world.set_pods("Running")
    world.run()
    before = world.writes
    for _ in range(3):
        world.run()
    assert world.writes == before


def test_a_job_that_is_being_deleted_is_left_alone() -> None:
    """Its pods go with it."""
    world = World()
    world.job()
    job = world.objects["jobs", NAMESPACE, "job"]
    world.put("jobs", {**job, "metadata": {**job["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}})
    world.run()
    assert world.pods() == []
    assert world.phase() == ""


def test_an_invalid_change_of_a_running_job_is_reported() -> None:
    """It goes on, pods are replaced; a rule that came with a new version must not stop what runs."""
    world = World()
    world.job("job", task(replicas=2, minAvailable=1), minAvailable=1)
    world.run()
    world.change_job(minAvailable=7)
    world.evict("job-worker-0")
    world.run()
    assert len(world.pods()) == 2
    assert any(reason == "Invalid" and "minAvailable" in message for _, reason, message in world.events)


def test_a_job_of_volcanos_goes_on() -> None:
    """Its claims have names that were made up; they are used as they are."""
    world = World()
    name = "job-pvc-0123456789ab"
    world.put("persistentvolumeclaims", {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {}})
    world.job(volumes=[{"mountPath": "/data", "volumeClaim": {"accessModes": []}, "volumeClaimName": name}])
    world.run()
    assert [at[2] for at in world.objects if at[0] == "persistentvolumeclaims"] == [name]
    assert world.pod("job-worker-0")["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": name}
    assert "Invalid" not in world.reasons()


async def test_a_job_of_many_pods_is_looked_at_now_and_then() -> None:
    """Its pods change one by one; 400 are looked at every 0.08 s."""
    world = World()
    world.job("job", task(replicas=400, minAvailable=1), minAvailable=1)
    for _ in range(20):
        world.admit()
        world.wait(1)
        await world.step()
    assert len(world.pods()) == 400
    world.set_pod("job-worker-7", "Running")
    assert await world.step() == pytest.approx(0.08)
    world.wait(0.1)
    assert await world.step() is None
    assert world.status()["running"] == 1


def test_a_job_that_is_scaled_beyond_all_bounds_keeps_its_pods() -> None:
    """None is made and none is taken away until that is mended; what is looked at are the pods there are."""
    world = World()
    world.job("job", task(minAvailable=1), minAvailable=1, policies=[policy("RestartJob", "PodEvicted", timeout="1h")])
    world.run()
    world.set_pods("Running")
    world.run()
    world.scale("worker", 2**31 - 1)
    world.run()
    world.evict("job-worker-1")
    world.run()
    assert (world.phase(), world.pods()) == ("Running", ["job-worker-0"])
    assert any("at most 100000" in message for _, reason, message in world.events if reason == "Invalid")
    world.scale("worker", 3)
    world.run()
    assert world.pods() == ["job-worker-0", "job-worker-1", "job-worker-2"]


def test_an_invalid_budget_is_reported() -> None:
    """Its pods' webhook may not be asked; the Job goes on, as the plugin tdm reads it."""
    world = World()
    world.job()
    job = world.objects["jobs", NAMESPACE, "job"]
    annotations = {"volcano.sh/jdb-min-available": "most"}
    world.put("jobs", {**job, "metadata": {**job["metadata"], "annotations": annotations}})
    world.run()
    assert len(world.pods()) == 2
    told = [message for _, reason, message in world.events if reason == "Invalid"]
    assert len(told) == 1
    assert "metadata.annotations[volcano.sh/jdb-min-available]" in told[0]


@pytest.mark.parametrize(("queue", "of_group"), [("default", "science"), ("other", "other")])
def test_a_namespace_may_name_the_queue_of_groups_in_the_default_one(queue: str, of_group: str) -> None:
    """As admission has it, whether or not it is asked."""
    world = World()
    world.queue("other")
    annotations = {"scheduling.volcano.sh/queue-name": "science"}
    world.put("namespaces", {"metadata": {"name": NAMESPACE, "annotations": annotations}})
    world.job(queue=queue)
    world.run()
    group = world.group()
    assert group is not None
    assert group["spec"]["queue"] == of_group
