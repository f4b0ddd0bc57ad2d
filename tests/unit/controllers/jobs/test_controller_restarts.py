"""A controller that is killed at any of its writes ends where one ends that never is, and counts each retry once."""

import copy
import random
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.unit.controllers.jobs.world import NAMESPACE, Json, World, policy, task

ACTIONS = ["RestartJob", "RestartTask", "RestartPod", "RestartPartition", "AbortJob", "TerminateJob", "CompleteJob"]
EVENTS = ["PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted", "TaskFailed", "*"]
COMMANDS = ["AbortJob", "ResumeJob", "RestartJob", "TerminateJob", "CompleteJob"]

policies = st.lists(
    st.one_of(
        st.builds(
            lambda action, event, timeout: policy(action, event, **({"timeout": timeout} if timeout else {})),
            st.sampled_from(ACTIONS),
            st.sampled_from(EVENTS),
            st.sampled_from(["", "", "90s"]),
        ),
        st.builds(lambda action: policy(action, exitCode=3), st.sampled_from(ACTIONS)),
    ),
    max_size=3,
)


@st.composite
def jobs(draw: st.DrawFn) -> Json:
    """Draw the spec of a Job."""
    tasks = [
        task(
            name,
            replicas=2 * draw(st.integers(1, 2)),
            policies=draw(policies) if draw(st.booleans()) else [],
            **({"minAvailable": 1} if draw(st.booleans()) else {}),
        )
        for name in ("master", "worker")[: draw(st.integers(1, 2))]
    ]
    if draw(st.booleans()):
        half = tasks[-1]["replicas"] // 2
        tasks[-1]["partitionPolicy"] = {"totalPartitions": 2, "partitionSize": half}
    if len(tasks) == 2 and draw(st.booleans()):
        tasks[1]["dependsOn"] = {"name": ["master"]}
    return {
        "tasks": tasks,
        "policies": draw(policies),
        "maxRetry": draw(st.integers(1, 3)),
        **({"minSuccess": 1} if draw(st.booleans()) else {}),
        **({"plugins": {"svc": [], "env": []}} if draw(st.booleans()) else {}),
        **({"volumes": [{"mountPath": "/data", "volumeClaim": {"accessModes": []}}]} if draw(st.booleans()) else {}),
    }


happening = st.one_of(
    st.just(("run",)),
    st.just(("run",)),
    st.tuples(st.sampled_from(["succeed", "fail", "fail badly", "evict", "restarts"]), st.integers(0, 7)),
    st.tuples(st.just("command"), st.sampled_from(COMMANDS)),
    st.tuples(st.just("scale"), st.sampled_from(["master", "worker"]), st.integers(0, 5)),
    st.just(("wait",)),
    st.just(("reap",)),
    st.just(("unknown",)),
)
happenings = st.lists(happening, min_size=3, max_size=12)
batches = st.lists(st.lists(happening, min_size=1, max_size=3), min_size=2, max_size=8)

kills = st.lists(st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=3), min_size=13, max_size=13)


def happen(world: World, what: tuple[Any, ...]) -> None:
    """Have something happen from outside."""
    names = world.pods()
    match what:
        case ("all", *single):
            for each in single:
                happen(world, each)
        case ("run",):
            for name in names:
                if world.pod(name)["status"]["phase"] == "Pending":
                    world.set_pod(name, "Running")
        case ("succeed" | "fail" | "fail badly" | "evict" | "restarts" as how, number) if names:
            name = names[number % len(names)]
            is_over = world.pod(name)["status"]["phase"] in {"Succeeded", "Failed"}
            if how == "evict":
                world.evict(name)
            elif not is_over and how == "restarts":
                world.set_pod(name, "Running", restarts=3)
            elif not is_over:
                phase = "Succeeded" if how == "succeed" else "Failed"
                world.set_pod(name, phase, exit_code={"succeed": 0, "fail": 1}.get(how, 3))
        case ("command", action):
            world.command(action)
        case ("scale", name, replicas):
            if not any("partitionPolicy" in each for each in world.objects["jobs", NAMESPACE, "job"]["spec"]["tasks"]):
                world.scale(name, replicas)
        case ("wait",):
            world.wait(60)
        case ("reap",):
            world.reap()
        case ("unknown",) if world.group() is not None:
            world.set_group("Unknown")


def live(
    spec: Json,
    story: list[tuple[Any, ...]],
    deaths: list[list[tuple[int, bool]]],
    *,
    is_graceful: bool,
    lag: random.Random | None = None,
) -> World:
    """Run a life; at which writes after each happening the process is killed is given."""
    world = World(is_graceful=is_graceful, lag=lag)
    world.job("job", **copy.deepcopy(spec))
    for what, planned in zip([("created",), *story], deaths, strict=False):
        happen(world, what)
        at = world.writes
        world.kills = {}
        for gap, is_taken in planned:
            at += gap
            world.kills[at] = is_taken
        world.run()
        world.kills = {}
        world.wait(1)
    return world


def outcome(world: World) -> Json:
    """Return what there is, without names and times that differ from run to run."""
    job = world.objects["jobs", NAMESPACE, "job"]
    status = copy.deepcopy(job.get("status", {}))
    status.get("state", {}).pop("lastTransitionTime", None)
    status["conditions"] = [one["status"] for one in status.get("conditions", [])]
    resources = status.get("controlledResources", {})
    resources.pop("command", None)
    pods = {
        at[2]: (
            pod.get("status", {}).get("phase"),
            pod["metadata"]["annotations"]["volcano.sh/job-version"],
            pod["metadata"]["annotations"]["volcano.sh/job-retry-count"],
            bool(pod["metadata"].get("deletionTimestamp")),
        )
        for at, pod in world.objects.items()
        if at[0] == "pods"
    }
    others = sorted(at for at in world.objects if at[0] not in {"pods", "jobs"})
    return {"status": status, "pods": dict(sorted(pods.items())), "others": others, "spec": job["spec"]}


def never(story: list[tuple[Any, ...]]) -> list[list[tuple[int, bool]]]:
    """Kill nothing."""
    return [[] for _ in range(len(story) + 1)]


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(spec=jobs(), story=happenings, deaths=kills, is_graceful=st.booleans())
@example(
    spec={"tasks": [task()], "policies": [policy("RestartPod", "PodFailed")], "maxRetry": 3},
    story=[("run",), ("fail", 0), ("run",), ("fail", 1)],
    deaths=[[], [], [(1, True)], [], [(1, True), (1, True)]],
    is_graceful=False,
)
@example(
    spec={"tasks": [task(replicas=2)], "policies": [policy("RestartJob", "Unknown")], "maxRetry": 1},
    story=[("unknown",)],
    deaths=[[], [(2, False)], []],
    is_graceful=False,
)
def test_killed_anywhere_it_ends_the_same(
    spec: Json, story: list[tuple[Any, ...]], deaths: list[list[tuple[int, bool]]], is_graceful: bool
) -> None:
    """The same life with and without deaths of the controller has the same outcome."""
    undisturbed = live(spec, story, never(story), is_graceful=is_graceful)
    disturbed = live(spec, story, deaths, is_graceful=is_graceful)
    assert outcome(disturbed) == outcome(undisturbed)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spec=jobs(), story=happenings, deaths=kills, is_graceful=st.booleans(), seed=st.integers(0, 2**32))
def test_with_stores_that_lag_it_ends_the_same(
    spec: Json, story: list[tuple[Any, ...]], deaths: list[list[tuple[int, bool]]], is_graceful: bool, seed: int
) -> None:
    """Stores that show everything later, each at its own pace, change nothing in the end."""
    undisturbed = live(spec, story, never(story), is_graceful=is_graceful)
    disturbed = live(spec, story, deaths, is_graceful=is_graceful, lag=random.Random(seed))
    assert outcome(disturbed) == outcome(undisturbed)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spec=jobs(), story=batches, deaths=kills, is_graceful=st.booleans())
def test_what_happens_together_ends_the_same(
    spec: Json, story: list[list[tuple[Any, ...]]], deaths: list[list[tuple[int, bool]]], is_graceful: bool
) -> None:
    """Several events before a reconciliation are answered as one, in any order."""
    together = [("all", *batch) for batch in story]
    undisturbed = live(spec, together, never(together), is_graceful=is_graceful)
    disturbed = live(spec, together, deaths, is_graceful=is_graceful)
    assert outcome(disturbed) == outcome(undisturbed)
