"""A Job that has had its time goes after its pods, as a user sees who waits for it with `kubectl wait`."""

import time

from pyroclast.controllers.garbage.reconciler import build
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.resources import JOBS
from pyroclast.model.wire import time_text
from tests.unit.controllers.ground import Ground

JOB = JOBS.path("default", "j")
PODS = "/api/v1/namespaces/default/pods"


async def test_the_job_stays_until_its_pods_have_gone(ground: Ground) -> None:
    """Its pod is held by a finalizer: the Job is being deleted, and is there; without the pod it goes."""
    spec = {"ttlSecondsAfterFinished": 0, "tasks": [{"name": "t", "replicas": 1, "template": {}}]}
    body = {"apiVersion": JOBS.api_version, "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    made = await ground.post(JOBS.collection("default"), body)
    owner = {"apiVersion": JOBS.api_version, "kind": "Job", "name": "j", "uid": made["metadata"]["uid"]}
    references = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    metadata = {"name": "j-t-0", "ownerReferences": references, "finalizers": ["test.example/held"]}
    pod = {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "none"}]}}
    await ground.post(PODS, {"apiVersion": "v1", "kind": "Pod", **pod})
    state = {"phase": "Completed", "lastTransitionTime": time_text(time.time())}
    await ground.patch(f"{JOB}/status", {"status": {"state": state}})

    async def is_going() -> bool:
        return "deletionTimestamp" in (await ground.get(f"{PODS}/j-t-0"))["metadata"]

    async def is_gone() -> bool:
        return not await ground.names(JOBS.collection("default"))

    operator = ground.operator()
    build(operator, ControllerOptions())
    async with ground.working(operator):
        await ground.soon(is_going)
        assert (await ground.get(JOB))["metadata"]["finalizers"] == ["foregroundDeletion"]
        await ground.patch(f"{PODS}/j-t-0", {"metadata": {"finalizers": None}})
        await ground.soon(is_gone)
