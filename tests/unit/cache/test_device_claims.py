"""Tasks with resource claims in the snapshot."""

from pyroclast.cache.files.audit import differences
from pyroclast.cache.state import ClusterState
from pyroclast.model import wire
from pyroclast.model.ids import JobId

GROUP = wire.PodGroup(metadata=wire.ObjectMeta(name="g", namespace="ns", uid="g"))
QUEUE = wire.Queue(metadata=wire.ObjectMeta(name="default", uid="q"))
CLAIM = wire.ResourceClaim(metadata=wire.ObjectMeta(name="c", namespace="ns", uid="c", resource_version="1"))


def pod(name: str, *, claims: bool) -> wire.Pod:
    """A pending pod of the group."""
    return wire.Pod(
        metadata=wire.ObjectMeta(
            name=name, namespace="ns", uid=name, annotations={"scheduling.k8s.io/group-name": "g"}
        ),
        spec=wire.PodSpec(
            scheduler_name="volcano",
            resource_claims=(wire.PodResourceClaim(name="c", resource_claim_name="c"),) if claims else (),
        ),
    )


def state() -> ClusterState:
    """Two pods with a claim, one without."""
    made = ClusterState()
    for kind, each in (
        ("Queue", QUEUE),
        ("PodGroup", GROUP),
        ("Pod", pod("b", claims=True)),
        ("Pod", pod("a", claims=True)),
        ("Pod", pod("z", claims=False)),
    ):
        made.apply(kind, each)
    return made


def test_tasks_with_claims_are_listed() -> None:
    """In the order of their ids, until they are gone; a rebuild finds the same."""
    there = state()
    assert [task.name for task in there.snapshot().tasks_with_claims] == ["a", "b"]
    there.remove("Pod", pod("a", claims=True))
    assert [task.name for task in there.snapshot().tasks_with_claims] == ["b"]
    assert differences(there.snapshot(), there.rebuild().snapshot()) == []


def test_a_claim_that_comes_late_wakes_its_users() -> None:
    """The job gets a new revision, so that what it was told before is not repeated."""
    there = state()
    before = there.snapshot()
    there.apply("ResourceClaim", CLAIM)
    after = there.snapshot()

    column = after.jobs[JobId("ns/g")].column
    assert after.job_table.revision[column] > before.job_table.revision[column]
