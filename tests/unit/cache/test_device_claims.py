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
    """They are sorted until they are deleted, and a rebuild lists the same tasks."""
    cluster = state()
    assert [task.name for task in cluster.snapshot().tasks_with_claims] == ["a", "b"]
    cluster.remove("Pod", pod("a", claims=True))
    assert [task.name for task in cluster.snapshot().tasks_with_claims] == ["b"]
    assert differences(cluster.snapshot(), cluster.rebuild().snapshot()) == []


def test_a_later_claim_updates_the_jobs_of_its_pods() -> None:
    """The job has a new revision, so that its earlier result is not repeated."""
    cluster = state()
    before = cluster.snapshot()
    cluster.apply("ResourceClaim", CLAIM)
    after = cluster.snapshot()

    column = after.jobs[JobId("ns/g")].column
    assert after.job_table.revision[column] > before.job_table.revision[column]
