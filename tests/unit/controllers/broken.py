"""Objects that each break one rule of admission, with the words of the rule: refusals and warnings.

Each call makes fresh ones. Names are the case's own, so that all of them may stand in one cluster.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pyroclast.kube.api.resources import CRON_JOBS, HYPER_NODES, JOB_FLOWS, JOBS, POD_GROUPS, PODS, QUEUES, Resource
from pyroclast.model.api.names import HIERARCHY, HIERARCHY_WEIGHTS, MAX_UNAVAILABLE, MIN_AVAILABLE
from tests.unit.controllers.admission.objects import Json, container, job, queue_json, task
from tests.unit.controllers.admission.rules.test_templates import REFUSED as BROKEN_TEMPLATES

__all__ = ["NAMESPACE", "QUEUES_BESIDE", "Broken", "broken_objects"]

NAMESPACE = "team"

QUEUES_BESIDE: list[Json] = [
    queue_json("root"),
    queue_json("default", parent="root"),
    queue_json("closed", parent="root", status={"state": "Closed"}),
    queue_json("above", parent="root"),
    queue_json("below", parent="above"),
]
"""What objects of other kinds refer to."""


@dataclass(frozen=True, kw_only=True)
class Broken:
    """One object that breaks a rule."""

    resource: Resource[Any]
    object: Json
    words: str
    """Text of the rule, in the message of admission."""
    was: Json | None = None
    """What the object was before a change; None where it is wrong from the start."""
    beside: tuple[Json, ...] = field(default=())
    """Other objects of its kind that are there."""
    reason: str = "Invalid"
    """Reason of the event."""
    told: str | None = None
    """Words of the event, where they are not admission's."""
    fits_schema: bool = True
    """The API server takes it; otherwise it does not come so far, unless the definition is another's."""

    @property
    def name(self) -> str:
        """Name of the object."""
        return str(self.object["metadata"]["name"])


def broken_objects() -> list[Broken]:
    """Return all of them."""
    return [
        *_jobs(),
        *_changed_jobs(),
        *_templates(),
        *_queues(),
        *_groups(),
        *_pods(),
        *_flows(),
        *_cron_jobs(),
        *_hyper_nodes(),
    ]


def _whole(resource: Resource[Any], name: str, spec: Json, **metadata: Any) -> Json:
    placed = {"namespace": NAMESPACE} if resource.is_namespaced else {}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, **placed, **metadata},
        "spec": spec,
    }


# --- Jobs ------------------------------------------------------------------------------------------------------------

BOTH_TIERS: Json = {"highestTierAllowed": 1, "highestTierName": "rack"}
MISTAKEN_POLICIES: list[tuple[list[Json], str]] = [
    ([{"event": "PodFailed", "exitCode": 1, "action": "RestartJob"}], "must not specify event and exitCode"),
    ([{"action": "RestartJob"}], "either event and exitCode should be specified"),
    ([{"event": "PodRunning", "action": "RestartJob"}], "invalid policy event"),
    ([{"event": "PodFailed", "action": "SyncJob"}], "invalid policy action"),
    ([{"event": "PodFailed", "action": "RestartJob"}] * 2, "duplicate event PodFailed  across different policy"),
    ([{"exitCode": 0, "action": "RestartJob"}], "0 is not a valid error code"),
    ([{"exitCode": 3, "action": "RestartJob"}] * 2, "duplicate exitCode 3"),
    (
        [{"event": "*", "action": "RestartJob"}, {"event": "PodFailed", "action": "AbortJob"}],
        "if there's * here, no other policy should be here",
    ),
]
MISTAKEN_JOBS: list[tuple[Json, str]] = [
    ({"plugins": {"mpi": ["--master=boss"]}}, "The specified mpi master task was not found"),
    ({"plugins": {"sv": []}}, "unable to find job plugin: sv"),
    ({"networkTopology": BOTH_TIERS}, "must not specify 'highestTierAllowed' and 'highestTierName'"),
    ({"tasks": [task(minAvailable=3)]}, "'minAvailable' is greater than 'replicas' in task: worker"),
    ({"tasks": [task("a"), task("a")]}, "duplicated task name a"),
    ({"tasks": [task("b" * 63)]}, "create pod with name"),
    ({"minAvailable": 3}, "job 'minAvailable' should not be greater than total replicas in tasks"),
    ({"tasks": [task("a"), task("b", replicas=100_000)]}, "a job must not have that many pods"),
    ({"volumes": [{"mountPath": "/a", "volumeClaimName": "c"}] * 2}, "duplicated mountPath: /a"),
    ({"volumes": [{"mountPath": "/a"}]}, "either VolumeClaim or VolumeClaimName must be specified"),
    (
        {"volumes": [{"mountPath": "/a", "volumeClaimName": "c", "volumeClaim": {}}]},
        "conflict: If you want to use an existing PVC",
    ),
    ({"volumes": [{"mountPath": "/a", "volumeClaimName": "C"}]}, "invalid VolumeClaimName C"),
    ({"queue": "nowhere"}, "unable to find job queue"),
    ({"queue": "closed"}, "can only submit job to queue with state `Open`, queue `closed` status is `Closed`"),
    ({"queue": "root"}, "can not submit job to root queue"),
    ({"queue": "above"}, "can only submit job to leaf queue, queue `above` has 1 child queues"),
    ({"tasks": [task("a", dependsOn={"name": ["who"]})]}, "doesn't form a directed acyclic graph(DAG)"),
    ({"tasks": [task(topologyPolicy="restricted")]}, "the cpu request isn't an integer in spec.task[0] container[0]."),
    (
        {"tasks": [task(replicas=8, partitionPolicy={"totalPartitions": 2, "partitionSize": 3})]},
        "'Replicas' are not equal to TotalPartitions*PartitionSize",
    ),
    (
        {"tasks": [task(replicas=8, partitionPolicy={"totalPartitions": 2, "partitionSize": 4, "minPartitions": 1})]},
        "'MinAvailable' is not equal to MinPartitions*PartitionSize",
    ),
    (
        {"tasks": [task(partitionPolicy={"totalPartitions": 1, "partitionSize": 2, "networkTopology": BOTH_TIERS})]},
        "must not specify 'highestTierAllowed' and 'highestTierName'",
    ),
    *(({"policies": policies}, words) for policies, words in MISTAKEN_POLICIES),
    *(({"tasks": [task(policies=policies)]}, words) for policies, words in MISTAKEN_POLICIES),
]
UNSCHEMED_JOBS: list[tuple[Json, str]] = [
    ({"tasks": []}, "No task specified in job spec"),
    ({"volumes": [{"mountPath": "", "volumeClaimName": "c"}]}, "mountPath is required"),
    (
        {"tasks": [task(partitionPolicy={"totalPartitions": 0, "partitionSize": 2})]},
        "'TotalPartitions' must be greater than 0",
    ),
    (
        {"tasks": [task(partitionPolicy={"totalPartitions": 2, "partitionSize": 0})]},
        "'PartitionSize' must be greater than 0",
    ),
]
"""What schemas know as well."""


NAMES_FOR_PLUGINS: list[tuple[str, Json, str]] = [
    ("a.b", {"svc": []}, "job plugin svc makes a Service a.b for job a.b"),
    ("r" * 55, {"ray": []}, f"job plugin ray makes a Service {'r' * 55}-head-svc"),
    ("h" * 55, {"svc": []}, f"job plugin svc makes a host {'h' * 55}-head-199 of the last pod"),
]


def _job(name: str, **spec: Any) -> Json:
    return job(name=name, **spec)


def _jobs() -> Iterator[Broken]:
    for number, (spec, words) in enumerate(MISTAKEN_JOBS):
        yield Broken(resource=JOBS, object=_job(f"j{number}", **{"tasks": [task()], **spec}), words=words)
    yield Broken(resource=JOBS, object=_job("j" * 64), words="validate failed")
    for name, plugins, words in NAMES_FOR_PLUGINS:
        made = _job(name, tasks=[task("head", replicas=200)], plugins=plugins)
        yield Broken(resource=JOBS, object=made, words=words)
    for number, (spec, words) in enumerate(UNSCHEMED_JOBS):
        made = _job(f"s{number}")
        made["spec"] |= spec
        yield Broken(resource=JOBS, object=made, words=words, fits_schema=False)
    unreadable = _job("unreadable", minAvailable="many")
    yield Broken(resource=JOBS, object=unreadable, words="expected `int`", fits_schema=False, told="Expected `int`")


CHANGES: list[tuple[Json, str, bool]] = [
    ({"tasks": [task(minAvailable=3)]}, "'minAvailable' must be <= 'replicas' in task: worker", True),
    ({"tasks": [task(replicas=-1, minAvailable=None)]}, "'replicas' must be >= 0 in task: worker", False),
    ({"tasks": [task(minAvailable=-1)]}, "'minAvailable' must be >= 0 in task: worker", False),
    ({"minAvailable": 3}, "job 'minAvailable' must not be greater than total replicas", True),
    ({"minAvailable": -1}, "job 'minAvailable' must be >= 0", False),
    ({"tasks": [task(replicas=2**31 - 1, minAvailable=1)]}, "a job must not have that many pods", True),
    ({"tasks": [task(), task("more")]}, "job updates may not add or remove tasks", True),
    ({"maxRetry": 9}, "spec.maxRetry: job updates may not change fields other than `minAvailable`", True),
    ({"networkTopology": BOTH_TIERS}, "must not specify 'highestTierAllowed' and 'highestTierName'", True),
    ({"tasks": [{**task(), "template": {"spec": "none"}}]}, "job updates may not change fields other than", True),
]


def _changed_jobs() -> Iterator[Broken]:
    for number, (change, words, fits) in enumerate(CHANGES):
        was = _job(f"c{number}")
        changed = _job(f"c{number}")
        changed["spec"] |= change
        yield Broken(resource=JOBS, object=changed, was=was, words=words, fits_schema=fits)


def _templates() -> Iterator[Broken]:
    for number, (template, _, words) in enumerate(BROKEN_TEMPLATES):
        made = _job(f"t{number}", tasks=[{**task(), "template": template}])
        yield Broken(resource=JOBS, object=made, words=words)


# --- queues ----------------------------------------------------------------------------------------------------------

ALONE: list[tuple[Json, str, bool]] = [
    ({"guarantee": {"resource": {"cpu": "4"}}}, "deserved[cpu] must be >= guarantee[cpu]=4", True),
    (
        {"guarantee": {"resource": {"cpu": "4"}}, "deserved": {"cpu": "3500m"}},
        "deserved[cpu]=3500m must be >= guarantee[cpu]=4",
        True,
    ),
    ({"deserved": {"cpu": "4"}, "capability": {"cpu": "3"}}, "deserved[cpu]=4 must be <= capability[cpu]=3", True),
    ({"capability": {"cpu": "-1"}}, "must be greater than or equal to 0", True),
    ({"capability": {"cpu": "many"}}, "no quantity", False),
    ({"deserved": {"nvidia.com/gpu": "1500m"}}, "must be an integer", True),
]
PATHS: list[tuple[str, str, str]] = [
    ("root/a", "1", "must have the same length with volcano.sh/hierarchy-weights"),
    ("root/a", "1/0", "0 in the 1/0 must be larger than 0"),
    ("root/a", "1/x", "x in the 1/x is invalid number"),
]
IN_A_TREE: list[tuple[Json, Json, str, str]] = [
    ({}, {"parent": "gone"}, "failed to get parent queue gone", ""),
    (
        {"capability": {"cpu": "10"}},
        {"capability": {"cpu": "11"}},
        "exceeds its ancestor's capability=10",
        "is smaller than its descendants' max capability=11",
    ),
    (
        {"deserved": {"cpu": "3"}},
        {"deserved": {"cpu": "4"}},
        "exceeds parent's deserved limit (cpu 3)",
        "sum of children's deserved (cpu 4)",
    ),
    (
        {"deserved": {"cpu": "9"}, "guarantee": {"resource": {"cpu": "3"}}},
        {"deserved": {"cpu": "4"}, "guarantee": {"resource": {"cpu": "4"}}},
        "exceeds parent's guarantee limit (cpu 3)",
        "sum of children's guarantee (cpu 4)",
    ),
]
"""Specs of a parent and of a queue below it, and the faults of both."""


def _queue(name: str, annotations: Json | None = None, **spec: Any) -> Json:
    return {**queue_json(name, annotations=annotations, **{"parent": "root", **spec})}


def _queues() -> Iterator[Broken]:
    for number, (spec, words, fits) in enumerate(ALONE):
        yield Broken(resource=QUEUES, object=_queue(f"q{number}", **spec), words=words, fits_schema=fits)
    for number, (path, weights, words) in enumerate(PATHS):
        annotations = {HIERARCHY: path, HIERARCHY_WEIGHTS: weights}
        yield Broken(resource=QUEUES, object=_queue(f"w{number}", annotations), words=words)
    inner, leaf = (
        _queue(name, {HIERARCHY: path, HIERARCHY_WEIGHTS: weights})
        for name, path, weights in (("inner", "root/sci", "1/1"), ("leaf", "root/sci/dev", "1/1/1"))
    )
    words = "root/sci is not allowed to be in the sub path of root/sci/dev of queue leaf"
    yield Broken(resource=QUEUES, object=inner, beside=(leaf,), words=words)
    for number, (above, spec, words, words_above) in enumerate(IN_A_TREE):
        parent, below = _queue(f"p{number}", **above), _queue(f"b{number}", **{"parent": f"p{number}", **spec})
        yield Broken(resource=QUEUES, object=below, beside=(parent,), words=words)
        if words_above:
            parent, below = _queue(f"v{number}", **above), _queue(f"u{number}", parent=f"v{number}", **spec)
            yield Broken(resource=QUEUES, object=parent, beside=(below,), words=words_above)
    yield Broken(resource=QUEUES, object=_queue("self", parent="self"), words="queue self cannot use itself as parent")
    ring = tuple(_queue(f"ring{number}", parent=f"ring{(number + 1) % 3}") for number in range(3))
    yield Broken(resource=QUEUES, object=ring[0], beside=ring[1:], words="queue ring0 cannot be below itself")
    deep = tuple(_queue(f"deep{number}", parent=f"deep{number - 1}" if number else "root") for number in range(6))
    yield Broken(resource=QUEUES, object=deep[5], beside=deep[:5], words="exceeds the maximum allowed depth of 5")
    stated, unknown = _queue("stated"), {**_queue("stated"), "status": {"state": "Unknown"}}
    yield Broken(resource=QUEUES, object=unknown, was=stated, words="queue state must be in [Open Closed]")
    root, larger = queue_json("root"), queue_json("root", deserved={"cpu": "5"})
    yield Broken(resource=QUEUES, object=larger, was=root, words="root queue's resource attributes")


# --- the small kinds -------------------------------------------------------------------------------------------------

GROUPS: list[tuple[Json, str]] = [
    ({"queue": "gone"}, "unable to find queue"),
    ({"queue": "closed"}, "can only submit PodGroup to queue with state `Open`, queue `closed` status is `Closed`"),
    ({"networkTopology": BOTH_TIERS}, "must not specify 'highestTierAllowed' and 'highestTierName'"),
    (
        {"subGroupPolicy": [{"name": "s", "networkTopology": BOTH_TIERS}]},
        "in subGroupPolicy 's': must not specify 'highestTierAllowed'",
    ),
]
BUDGETS: list[tuple[Json, str]] = [
    ({MIN_AVAILABLE: "0"}, "it must be a positive integer"),
    ({MAX_UNAVAILABLE: "100%"}, "it must be a valid percentage which between 1% ~ 99%"),
    ({MIN_AVAILABLE: "1", MAX_UNAVAILABLE: "1"}, "not allow configure multiple annotations"),
]
FLOWS: list[tuple[dict[str, list[str]], str]] = [
    ({"a": ["x"]}, "jobflow Flow is not DAG: vertex is not defined: x"),
    ({"a": ["b"], "b": ["a"]}, "jobflow Flow is not DAG"),
    ({"t" * 63: []}, "no job can have this name"),
]


def _groups() -> Iterator[Broken]:
    for number, (spec, words) in enumerate(GROUPS):
        made = _whole(POD_GROUPS, f"g{number}", {"queue": "default", "minMember": 1, **spec})
        yield Broken(resource=POD_GROUPS, object=made, words=words)


def _pods() -> Iterator[Broken]:
    for number, (annotations, words) in enumerate(BUDGETS):
        spec = {"schedulerName": "volcano", "containers": [container()]}
        yield Broken(resource=PODS, object=_whole(PODS, f"p{number}", spec, annotations=annotations), words=words)


def _flows() -> Iterator[Broken]:
    for number, (waits_for, words) in enumerate(FLOWS):
        flows = [{"name": name, "dependsOn": {"targets": targets}} for name, targets in waits_for.items()]
        made = _whole(JOB_FLOWS, f"f{number}", {"flows": flows})
        yield Broken(resource=JOB_FLOWS, object=made, words=words, reason="SyncJobFlow")


def _cron_job(name: str, schedule: str = "* * * * *", **spec: Any) -> Json:
    return _whole(CRON_JOBS, name, {"schedule": schedule, "jobTemplate": {"spec": job()["spec"]}, **spec})


UNPARSABLE, ZONE = ("UnParseableCronJobSchedule", "unparseable schedule"), ("InvalidTimeZone", "unknown time zone")
CRON_JOBS_AT_FAULT: list[tuple[Json, str, tuple[str, str | None]]] = [
    ({"schedule": ""}, "schedule is required, but got empty", UNPARSABLE),
    ({"schedule": "0 0 * *"}, "schedule is not a valid cron", UNPARSABLE),
    ({"schedule": ",".join(["1"] * 600) + " * * * *"}, "it is too long", ("Invalid", None)),
    ({"schedule": "TZ=UTC 0 0 29 2 *"}, "should not contain TZ", ("UnsupportedSchedule", "TZ in the schedule")),
    ({"timeZone": ""}, "timeZone must be nil or non-empty string", ("Invalid", None)),
    ({"timeZone": "Local"}, "timeZone can't be Local", ZONE),
    ({"timeZone": "Europe/Nowhere"}, "unknown timeZone", ZONE),
]
"""Where Volcano's controller has words of its own, the event has these."""


def _cron_jobs() -> Iterator[Broken]:
    for number, (spec, words, (reason, told)) in enumerate(CRON_JOBS_AT_FAULT):
        made = _cron_job(f"n{number}", **spec)
        yield Broken(resource=CRON_JOBS, object=made, words=words, reason=reason, told=told)
    long = _cron_job("n" * 53)
    yield Broken(resource=CRON_JOBS, object=long, words="cronJob name must be no more than 52 characters")


def _hyper_nodes() -> Iterator[Broken]:
    members = [{"type": "Node", "selector": {"regexMatch": {"pattern": "("}}}]
    pattern = _whole(HYPER_NODES, "pattern", {"tier": 1, "members": members})
    yield Broken(resource=HYPER_NODES, object=pattern, words="member regexMatch pattern is invalid")
    empty = _whole(HYPER_NODES, "empty", {"tier": 1, "members": []})
    yield Broken(resource=HYPER_NODES, object=empty, words="member must have at least one member", fits_schema=False)
