"""Jobs: what is refused, where, and in which words."""

from typing import Any

import msgspec
import pytest

from pyroclast.controllers.admission.lookups import QueuesByName
from pyroclast.controllers.admission.rules.jobs import defaulted, faults_of, warnings_of
from pyroclast.controllers.jobs.defaults import filled_in
from pyroclast.model.api.batch import Job
from pyroclast.model.api.names import DEFAULT_QUEUE
from tests.unit.controllers.admission.objects import Json, container, fields_of, job, queue, task

QUEUES = QueuesByName(
    [
        queue("root"),
        queue(DEFAULT_QUEUE, "root"),
        queue("closed", state="Closed"),
        queue("fresh", state=""),
        queue("above"),
        queue("below", "above"),
    ]
)

MPI = {"mpi": ["--master=boss", "--worker=worker"]}

CASES: list[tuple[Json, str, str]] = [
    ({**job(), "spec": {"tasks": []}}, "spec.tasks", "No task specified in job spec"),
    (job(plugins=MPI), "spec.plugins.mpi", "The specified mpi master task was not found"),
    (
        job(networkTopology={"highestTierAllowed": 1, "highestTierName": "rack"}),
        "spec.networkTopology",
        "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously",
    ),
    (
        job(task(minAvailable=3)),
        "spec.tasks[0].minAvailable",
        "'minAvailable' is greater than 'replicas' in task: worker, job: train (got 3, expected at most 2",
    ),
    (job(task("a"), task("a")), "spec.tasks[1].name", "duplicated task name a"),
    (
        job(task("b" * 50), name="c" * 20),
        "spec.tasks[0].name",
        f"create pod with name {'c' * 20}-{'b' * 50}-0 validate failed",
    ),
    (job(name="n" * 64), "metadata.name", f"create job with name {'n' * 64} validate failed"),
    (
        job(minAvailable=3),
        "spec.minAvailable",
        "job 'minAvailable' should not be greater than total replicas in tasks (got 3, expected at most 2",
    ),
    (job(plugins={"sv": []}), "spec.plugins", "unable to find job plugin: sv"),
    (
        job(volumes=[{"mountPath": "", "volumeClaimName": "c"}]),
        "spec.volumes[0].mountPath",
        "mountPath is required",
    ),
    (
        job(volumes=[{"mountPath": "/a", "volumeClaimName": "c"}, {"mountPath": "/a", "volumeClaimName": "d"}]),
        "spec.volumes[1].mountPath",
        "duplicated mountPath: /a",
    ),
    (
        job(volumes=[{"mountPath": "/a"}]),
        "spec.volumes[0]",
        "either VolumeClaim or VolumeClaimName must be specified",
    ),
    (
        job(volumes=[{"mountPath": "/a", "volumeClaimName": "c", "volumeClaim": {}}]),
        "spec.volumes[0].volumeClaimName",
        "conflict: If you want to use an existing PVC",
    ),
    (
        job(volumes=[{"mountPath": "/a", "volumeClaimName": "C"}]),
        "spec.volumes[0].volumeClaimName",
        "invalid VolumeClaimName C",
    ),
    (job(queue="nowhere"), "spec.queue", "unable to find job queue"),
    (
        job(queue="closed"),
        "spec.queue",
        "can only submit job to queue with state `Open`, queue `closed` status is `Closed`",
    ),
    (job(queue="root"), "spec.queue", "can not submit job to root queue"),
    (job(queue="above"), "spec.queue", "can only submit job to leaf queue, queue `above` has 1 child queues"),
    (
        job(task("a", dependsOn={"name": ["b"]}), task("b", dependsOn={"name": ["a"]})),
        "spec.tasks[0].dependsOn.name",
        "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG)",
    ),
    (
        job(task("a", dependsOn={"name": ["who"]})),
        "spec.tasks[0].dependsOn.name",
        "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG)",
    ),
    (
        job(task(topologyPolicy="restricted")),
        "spec.tasks[0].template.spec.containers[0].resources.requests.cpu",
        "the cpu request isn't an integer in spec.task[0] container[0].",
    ),
    (
        job(task(policies=[{"event": "PodFailed", "action": "Explode"}])),
        "spec.tasks[0].policies[0].action",
        "invalid policy action",
    ),
    (job(policies=[{"action": "RestartJob"}]), "spec.policies[0]", "either event and exitCode should be specified"),
    (
        job(task(containers=[])),
        "spec.tasks[0].template.spec.containers",
        "Required value",
    ),
    (job(minAvailable="many"), "spec.minAvailable", 'expected `int`, got `str` (got "many")'),
]


@pytest.mark.parametrize(("value", "field", "words"), CASES, ids=[words[:40] for _, _, words in CASES])
def test_a_new_job_is_refused_with_field_and_words(value: Json, field: str, words: str) -> None:
    """The fault stands at the field and says the rule, what was got and what was expected."""
    faults = faults_of(value, lookups=QUEUES)

    assert [fault for fault in faults if fault.field == field and words in str(fault)], faults


def test_a_good_job_has_no_faults() -> None:
    """Nothing is wrong with it, as JSON and as a struct."""
    assert faults_of(job(), lookups=QUEUES) == ()
    assert faults_of(msgspec.convert(job(), Job), lookups=QUEUES) == ()


def test_the_name_of_a_tier_may_have_a_slash() -> None:
    """volcano#5233: HyperNodes name their tiers after node labels."""
    topology = {"mode": "hard", "highestTierName": "topology.kubernetes.io/zone"}

    assert faults_of(job(networkTopology=topology), lookups=QUEUES) == ()


def test_a_queue_without_a_state_is_open() -> None:
    """A fresh queue takes jobs."""
    assert faults_of(job(queue="fresh"), lookups=QUEUES) == ()


def test_without_lookups_queues_are_not_validated() -> None:
    """Without access to the queues the rest is validated."""
    assert faults_of(job(queue="nowhere")) == ()


def test_all_faults_are_reported_at_once() -> None:
    """One try shows everything that is wrong."""
    faults = faults_of(job(task("a", minAvailable=5), plugins={"x": []}, minAvailable=9, queue="root"), lookups=QUEUES)

    assert fields_of(faults) == ["spec.plugins", "spec.tasks[0].minAvailable", "spec.minAvailable", "spec.queue"]


@pytest.mark.parametrize(
    ("policy", "fields", "words"),
    [
        ({"totalPartitions": 0, "partitionSize": 2}, {}, "'TotalPartitions' must be greater than 0 in task: worker"),
        ({"totalPartitions": 2, "partitionSize": 0}, {}, "'PartitionSize' must be greater than 0 in task: worker"),
        (
            {"totalPartitions": 2, "partitionSize": 3},
            {},
            "'Replicas' are not equal to TotalPartitions*PartitionSize in task: worker, job: train (got 8, expected 6",
        ),
        (
            {"totalPartitions": 2, "partitionSize": 4, "minPartitions": 1},
            {"minAvailable": 8},
            "'MinAvailable' is not equal to MinPartitions*PartitionSize in task: worker, job: train (got 8, expected 4",
        ),
    ],
)
def test_partitions_add_up(policy: Json, fields: Json, words: str) -> None:
    """Sizes that contradict each other are named with the number that would be right."""
    faults = faults_of(job(task(replicas=8, partitionPolicy=policy, **fields)))

    assert len(faults) == 1
    assert words in str(faults[0])


def test_partitions_without_a_minimum_need_all_replicas() -> None:
    """Without minPartitions, minAvailable is that of any task."""
    policy = {"totalPartitions": 2, "partitionSize": 4}

    assert faults_of(job(task(replicas=8, minAvailable=8, partitionPolicy=policy))) == ()


@pytest.mark.parametrize(
    ("resources", "is_right"),
    [
        ({"requests": {"cpu": "2"}}, True),
        ({"requests": {"cpu": "2000m"}}, True),
        ({"limits": {"cpu": 2}}, True),
        ({"requests": {"cpu": "1500m"}}, False),
        ({"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi", "cpu": "2"}}, False),
        ({"requests": {"cpu": "0"}}, False),
    ],
)
def test_aligned_tasks_ask_for_whole_cpus(resources: Json, is_right: bool) -> None:
    """Requests count, limits only where there are no requests at all."""
    aligned = task(topologyPolicy="single-numa-node", containers=[container(resources=resources)])

    assert (faults_of(job(aligned)) == ()) is is_right


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"minAvailable": 1, "priorityClassName": "high"}, None),
        ({"tasks": [task(replicas=5, minAvailable=3)]}, None),
        ({"ttlSecondsAfterFinished": 600}, None),
        ({"tasks": [task(minAvailable=3)]}, "'minAvailable' must be <= 'replicas' in task: worker"),
        ({"tasks": [task(replicas=-1, minAvailable=None)]}, "'replicas' must be >= 0 in task: worker"),
        ({"tasks": [task(minAvailable=-1)]}, "'minAvailable' must be >= 0 in task: worker"),
        ({"minAvailable": 3}, "job 'minAvailable' must not be greater than total replicas (got 3, expected at most 2"),
        ({"minAvailable": -1}, "job 'minAvailable' must be >= 0"),
        ({"tasks": [task(), task("more")]}, "job updates may not add or remove tasks"),
        ({"queue": "other"}, None),
        ({"maxRetry": 7}, "spec.maxRetry: job updates may not change fields other than `minAvailable`"),
        (
            {"networkTopology": {"highestTierAllowed": 1, "highestTierName": "rack"}},
            "must not specify 'highestTierAllowed' and 'highestTierName'",
        ),
        (
            {"tasks": [task(containers=[container(image="other")])]},
            "spec.tasks[0].template.spec.containers[0].image: job updates may not change fields other than",
        ),
    ],
)
def test_changes_of_a_job(changes: Json, words: str | None) -> None:
    """Size, gang, priority, time to live and queue may change; everything else is refused by its path."""
    faults = faults_of(job(**changes), job())

    assert any(words in str(fault) for fault in faults) if words else faults == ()


def test_the_queue_changes_only_while_no_pod_runs_and_to_one_that_accepts_work() -> None:
    """A running pod uses the capacity of its queue; a closed queue accepts no Job."""
    running = {**job(), "status": {"running": 1}}

    assert fields_of(faults_of(job(queue="fresh"), job(), QUEUES)) == []
    assert fields_of(faults_of(job(queue="closed"), job(), QUEUES)) == ["spec.queue"]
    assert fields_of(faults_of({**running, **job(queue="fresh")}, running, QUEUES)) == ["spec.queue"]


def test_a_manifest_without_defaults_may_be_applied_once_more() -> None:
    """Kubectl replaces the list of tasks, so that what was filled in of them is left out; another value is a change."""
    written = job(task(), plugins={"pytorch": []})
    made = filled_in(written, defaulted(written))

    assert made["spec"]["tasks"][0]["maxRetry"] == 3
    assert faults_of(written, made) == ()
    assert fields_of(faults_of(job(task(maxRetry=5), plugins={"pytorch": []}), made)) == ["spec.tasks[0].maxRetry"]


def test_a_scheduler_that_was_filled_in_may_be_left_out() -> None:
    """Whichever it is; naming another is a change."""
    made = filled_in(job(), defaulted(job(), scheduler_name="ours"))

    assert faults_of(job(maxRetry=3), made) == ()
    assert fields_of(faults_of(job(maxRetry=3, schedulerName="volcano"), made)) == ["spec.schedulerName"]


def test_a_budget_that_cannot_be_read_is_warned_of() -> None:
    """Pods that carry it may be refused; the Job is not."""
    value = job()
    value["metadata"]["annotations"] = {"volcano.sh/jdb-max-unavailable": "100%"}

    assert faults_of(value) == ()
    assert ["jdb-max-unavailable" in words for words in warnings_of(value)] == [True]


def test_a_claim_name_that_the_controller_fills_in_may_change() -> None:
    """It is no user's change."""
    old = job(volumes=[{"mountPath": "/a", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}])
    new = job(volumes=[{"mountPath": "/a", "volumeClaimName": "p", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}])

    assert faults_of(new, old) == ()


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ({"resources": {"requests": {"cpu": "1000m"}}}, {"resources": {"requests": {"cpu": 1}}}),
        ({"resources": {}}, {}),
        ({"env": None}, {}),
        ({"env": []}, {}),
        ({"stdin": False, "workingDir": ""}, {}),
        (
            {"livenessProbe": {"exec": {"command": ["x"]}, "initialDelaySeconds": 0}},
            {"livenessProbe": {"exec": {"command": ["x"]}}},
        ),
    ],
)
def test_another_spelling_is_no_change(was: Json, becomes: Json) -> None:
    """Clients write the same thing in different ways."""
    old, new = (job(task(containers=[container(**each)]), minAvailable=1) for each in (was, becomes))
    new["spec"]["priorityClassName"] = "high"

    assert faults_of(new, old) == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"networkTopology": {"mode": "hard"}},
        {"networkTopology": {}},
        {"tasks": [task(containers=[container(securityContext={})])]},
        {"tasks": [task(containers=[container(stdin=True)])]},
        {"tasks": [task(containers=[container(resources={"requests": {"cpu": 2}})])]},
        {"plugins": {"svc": []}},
        {"tasks": [task(template={"metadata": {"labels": {"a": ""}}, "spec": task()["template"]["spec"]})]},
        {"volumes": [{"mountPath": "/a", "volumeClaim": {}}]},
    ],
)
def test_what_says_something_is_a_change(changes: Json) -> None:
    """Also where it is empty."""
    assert [fault.rule[:38] for fault in faults_of(job(**changes), job())] == [
        "job updates may not change fields other"[:38]
    ]


def test_a_stored_job_with_faults_can_be_finished_and_deleted() -> None:
    """Where the spec stays, or the Job goes, no rule stands in the way of its finalizers."""
    broken = job(task(minAvailable=9), minAvailable=99)
    going: Any = job(task(minAvailable=9), minAvailable=98)
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert faults_of({**broken, "metadata": {"name": "train", "finalizers": []}}, broken) == ()
    assert faults_of(going, broken) == ()


def test_a_job_that_is_made_to_keep_us_busy_is_given_up_on() -> None:
    """A hundred of its faults are found; messages name a few of thousands of names."""
    tasks = [{"name": f"t{number}", "dependsOn": {"name": ["gone"]}} for number in range(3000)]

    faults = faults_of(job(*tasks))

    assert len(faults) == 100
    assert max(len(str(fault)) for fault in faults) < 1000


def test_ray_without_head_is_refused() -> None:
    """No pod of it could start; what only deserves a warning is none."""
    headless = job(task("worker"), plugins={"ray": [], "svc": []})

    assert "has no head task 'head'" in str(faults_of(headless)[0])
    assert faults_of(job(task("head"), plugins={"ray": [], "svc": []})) == ()
