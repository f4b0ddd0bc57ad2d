"""What admission refuses is safe where it is not asked: the object has the fault, and nothing comes of it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

import pyroclast.controllers.admission.rules
from pyroclast.controllers.admission.handlers import SERVICES, AdmissionPolicy, KnownCluster, review_object
from pyroclast.controllers.admission.lookups import QueuesByName
from pyroclast.controllers.admission.reviews import Review, ReviewedResource
from pyroclast.controllers.runtime.invalid_condition import grace_left
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import CRON_JOBS, HYPER_NODES, JOB_FLOWS, JOBS, POD_GROUPS, PODS, QUEUES, Resource
from pyroclast.model.api.scheduling import Queue
from pyroclast.scheduler.controllers.table import CONTROLLERS
from tests.unit.controllers import ground as grounds
from tests.unit.controllers.admission.objects import Json, job, queue_json
from tests.unit.controllers.broken import NAMESPACE, QUEUES_BESIDE, Broken, broken_objects

CASES = broken_objects()
EVENTS = "/api/v1/events"


# --- asked -----------------------------------------------------------------------------------------------------------


def verdict_of(case: Broken) -> Sequence[Any]:
    """What admission says."""
    service = next(
        each
        for each in SERVICES.values()
        if each.validation is not None and (each.group, each.resource) == (case.resource.group, case.resource.plural)
    )
    queues = [*QUEUES_BESIDE, *((*case.beside, case.object) if case.resource is QUEUES else ())]
    review = Review(
        uid="u",
        resource=ReviewedResource(group=service.group, resource=service.resource),
        namespace=NAMESPACE,
        name=case.name,
        operation="CREATE" if case.was is None else "UPDATE",
        object=case.object,
        old_object=case.was,
    )
    known = KnownCluster(lookups=QueuesByName(msgspec.convert(queues, list[Queue])))
    return review_object(service, review, AdmissionPolicy(), known).faults


@pytest.mark.parametrize("case", CASES, ids=[f"{case.resource.kind}-{case.name}" for case in CASES])
def test_admission_refuses_it_with_field_value_and_limit(case: Broken) -> None:
    """In the rule's words, with what was got and what may stand there as far as either says more than the rule."""
    faults = [fault for fault in verdict_of(case) if case.words in str(fault)]

    assert faults, verdict_of(case)
    for fault in faults:
        assert fault.field
        assert str(fault).startswith(f"{fault.field}: {fault.rule[:40]}")
        assert fault.value is None or "got " in str(fault)
        assert not fault.expected or "expected " in str(fault)


def rules_in(source: str) -> Iterator[str]:
    """Give a pattern for the words of each fault that a file makes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Fault":
            rule = next((each.value for each in node.keywords if each.arg == "rule"), None)
            if isinstance(rule, ast.Constant):
                yield re.escape(str(rule.value))
            elif isinstance(rule, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else None for part in rule.values)
                yield "".join(".*" if part is None else re.escape(str(part)) for part in parts)


ELSEWHERE = {
    "invalid cronJob name": "no server stores such a name",
    "can not be deleted because": "what a deleted queue leaves behind is told: the tests below",
    "queue can not be deleted": "the same",
    "cannot be deleted because it has allocated Pods": "the same",
    "cannot be the parent queue": "once it is the parent, what it holds and what is below it are in order each",
    "must not name its node": "queues count of such a pod what its node offers: tests/scenarios",
    "more than the strict maximum": "the scheduler counts what pods use: a quota below it gets no further pods",
    "this label does not change": "the webhook of pods is optional, and without it the label counts as it is",
    "is nested too deeply": "decoding ignores content beyond this depth: tests/unit/model/test_wire.py",
    "must not name the quota of another namespace": "with `labelsOfOwnQuotas` such a label counts for nothing",
}
"""Rules without a case, and why."""
OF_THE_SCHEDULER = {
    "elastic_trees.py": "it serves no quota without a place in its tree, and cuts guarantees that are too much",
}
"""Files of rules about objects that controllers do not look at, and why these are safe."""


def test_every_rule_has_a_case() -> None:
    """A rule that is added has to be safe without webhooks too."""
    told = [str(fault) for case in CASES for fault in verdict_of(case)]
    folder = Path(pyroclast.controllers.admission.rules.__file__).parent
    files = [file for file in sorted(folder.glob("*.py")) if file.name not in OF_THE_SCHEDULER]
    patterns = [pattern for file in files for pattern in rules_in(file.read_text())]
    missing = [
        pattern
        for pattern in patterns
        if not any(re.search(pattern, each, re.DOTALL) for each in told)
        and not any(re.escape(words) in pattern for words in ELSEWHERE)
    ]

    assert len(patterns) > 60
    assert missing == []


# --- not asked -------------------------------------------------------------------------------------------------------


class World:
    """A server without webhooks, with all controllers at work."""

    def __init__(self, ground: grounds.Ground) -> None:
        self._ground = ground

    async def make(self, resource: Resource[Any], item: Json) -> None:
        """Create an object, its status too."""
        made = await self._ground.post(
            resource.collection(item["metadata"].get("namespace", "")), _typed(resource, item)
        )
        if "status" in item and "status" not in made:
            await self._ground.patch(f"{_path(resource, item)}/status", {"status": item["status"]})

    async def change(self, resource: Resource[Any], item: Json) -> None:
        """Change the spec of an object, and the status where there is one."""
        await self._ground.patch(_path(resource, item), {"spec": item["spec"]})
        if "status" in item:
            await self._ground.patch(f"{_path(resource, item)}/status", {"status": item["status"]})

    async def events(self) -> dict[tuple[str, str], list[tuple[str, str]]]:
        """Reasons and messages of warnings by the kind and the name that they are about."""
        found: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for event in (await self._ground.get(EVENTS))["items"]:
            about = event["involvedObject"]
            if event["type"] == "Warning":
                found[about["kind"], about["name"]].append((event["reason"], event["message"]))
        return found

    async def untold(self, cases: Iterable[Broken]) -> list[str]:
        """Name the cases that no event tells as it should."""
        events = await self.events()
        return [
            f"{case.resource.kind} {case.name}: {case.words!r} is not in {events[case.resource.kind, case.name]}"
            for case in cases
            if not any(
                reason == case.reason and (case.told or case.words) in message
                for reason, message in events[case.resource.kind, case.name]
            )
        ]

    async def until_told(self, cases: Sequence[Broken]) -> None:
        """Wait until all have conditions, and return which have not."""
        try:
            await self._ground.soon(lambda: self._all_told(cases), seconds=20.0)
        except TimeoutError:
            raise AssertionError("\n".join(await self.untold(cases))) from None

    async def _all_told(self, cases: Sequence[Broken]) -> bool:
        return not await self.untold(cases)

    async def conditions(self, resource: Resource[Any], case: Broken) -> list[Any]:
        """The conditions of type Invalid of an object, each with its message."""
        status = (await self._ground.get(_path(resource, case.object))).get("status", {})
        return [
            (each["status"], case.words in each["message"])
            for each in status.get("conditions", ())
            if each["type"] == "Invalid"
        ]


def _typed(resource: Resource[Any], item: Json) -> Json:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **item}


def _path(resource: Resource[Any], item: Json) -> str:
    return resource.path(item["metadata"].get("namespace", ""), item["metadata"]["name"])


async def with_all_controllers(ground: grounds.Ground) -> Operator:
    """An operator with every controller, and what objects refer to."""
    await ground.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    world = World(ground)
    for queue in QUEUES_BESIDE:
        await world.make(QUEUES, queue)
    operator = ground.operator()
    for build in CONTROLLERS.values():
        build(operator, ControllerOptions())
    return operator


def of(*resources: Resource[Any]) -> list[Broken]:
    """The cases of some kinds that a server takes and that are wrong from the start."""
    return [case for case in CASES if case.resource in resources and case.fits_schema and case.was is None]


async def test_new_jobs(ground: grounds.Ground) -> None:
    """An event and the state say what is wrong; there is neither group nor pod."""
    cases = of(JOBS)
    operator, world = await with_all_controllers(ground), World(ground)
    with capture_logs() as logs:
        async with ground.working(operator):
            for case in cases:
                await world.make(JOBS, case.object)
            await world.until_told(cases)
            await operator.idle()

    jobs = (await ground.get(JOBS.collection(NAMESPACE)))["items"]
    assert {job["status"]["state"]["reason"] for job in jobs} == {"Invalid"}
    assert len(jobs) == len(cases) > 60
    assert await ground.names(POD_GROUPS.collection(NAMESPACE)) == []
    assert await ground.names(PODS.collection(NAMESPACE)) == []
    assert [each for each in logs if each["log_level"] == "error"] == []


async def test_changes(ground: grounds.Ground) -> None:
    """Jobs that have begun, and the root queue: an event names the change that is not supported."""
    cases = [case for case in CASES if case.was is not None and case.fits_schema]
    operator, world = await with_all_controllers(ground), World(ground)

    async def have_begun() -> bool:
        jobs = (await ground.get(JOBS.collection(NAMESPACE)))["items"]
        return all(job.get("status", {}).get("state", {}).get("phase") == "Pending" for job in jobs)

    async def is_settled() -> bool:
        queues = (await ground.get(QUEUES.collection()))["items"]
        return all(not grace_left(queue["metadata"]["creationTimestamp"], operator.clock.wall()) for queue in queues)

    with capture_logs() as logs:
        async with ground.working(operator):
            for case in cases:
                if case.was is not None and case.name != "root":
                    await world.make(case.resource, case.was)
            await ground.soon(have_begun)
            await ground.soon(is_settled)
            for case in cases:
                await world.change(case.resource, case.object)
            await world.until_told(cases)
            await operator.idle()

    assert {case.resource.kind for case in cases} == {"Job", "Queue"}
    assert await ground.names(PODS.collection(NAMESPACE)) == []
    assert [each for each in logs if each["log_level"] == "error"] == []


async def test_queues(ground: grounds.Ground) -> None:
    """Every invalid queue has an event, wherever its parent is; valid ones have none."""
    cases = of(QUEUES)
    operator, world = await with_all_controllers(ground), World(ground)
    with capture_logs() as logs:
        async with ground.working(operator):
            for case in cases:
                for queue in (*case.beside, case.object):
                    await world.make(QUEUES, queue)
            await world.until_told(cases)
            await operator.idle()

    events = await world.events()
    sound = {queue["metadata"]["name"] for queue in QUEUES_BESIDE}
    assert [events[each] for each in events if each[1] in sound] == []
    assert [len(events["Queue", case.name]) for case in cases] == [1] * len(cases)
    assert [each for each in logs if each["log_level"] == "error"] == []


async def test_small_kinds(ground: grounds.Ground) -> None:
    """Pod groups, pods, flows, CronJobs, HyperNodes: an event each, a condition where there are some, and no Job."""
    cases = of(POD_GROUPS, PODS, JOB_FLOWS, CRON_JOBS, HYPER_NODES)
    operator, world = await with_all_controllers(ground), World(ground)
    with capture_logs() as logs:
        async with ground.working(operator):
            for case in cases:
                await world.make(case.resource, case.object)
            await world.until_told(cases)
            await operator.idle()

    for resource in (POD_GROUPS, HYPER_NODES):
        for case in of(resource):
            assert await world.conditions(resource, case) == [("True", True)], case.name
    assert await ground.names(JOBS.collection(NAMESPACE)) == []
    groups = (await ground.get(POD_GROUPS.collection(NAMESPACE)))["items"]
    made_here = [group for group in groups if group["metadata"]["name"].startswith("podgroup-")]
    budgets = [group["metadata"].get("annotations", {}) for group in made_here]
    assert sorted(map(str, budgets)) == ["{'volcano.sh/jdb-min-available': '1'}", "{}", "{}"]
    assert [each for each in logs if each["log_level"] == "error"] == []


async def test_schemas_refuse_their_faults(ground: grounds.Ground) -> None:
    """It does not come so far."""
    await ground.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for case in (each for each in CASES if not each.fits_schema and each.was is None):
        with pytest.raises(ApiError, match="422 Invalid"):
            await World(ground).make(case.resource, case.object)


async def test_faults_are_reported_without_schemas(tmp_path: Path) -> None:
    """Definitions from elsewhere may have fewer fields; what cannot be parsed is reported with its path."""
    cases = [case for case in CASES if not case.fits_schema and case.was is None]
    async with grounds.ground(tmp_path, knows_schemas=False) as ground:
        operator, world = await with_all_controllers(ground), World(ground)
        with capture_logs() as logs:
            async with ground.working(operator):
                for case in cases:
                    await world.make(case.resource, case.object)
                await world.until_told(cases)
                await operator.idle()
        assert await ground.names(PODS.collection(NAMESPACE)) == []
        assert await ground.names(POD_GROUPS.collection(NAMESPACE)) == []

    assert [each for each in logs if each["log_level"] == "error"] == []


async def test_objects_of_a_deleted_queue_are_reported(ground: grounds.Ground) -> None:
    """It is not removed: the queues below it, and the groups that wait in it, name what is missing."""
    operator, world = await with_all_controllers(ground), World(ground)
    waiting = {"metadata": {"name": "g", "namespace": NAMESPACE}, "spec": {"queue": "below", "minMember": 1}}
    async with ground.working(operator):
        await world.make(POD_GROUPS, waiting)
        await ground.delete(QUEUES.path("", "above"))
        left = Broken(resource=QUEUES, object={"metadata": {"name": "below"}}, words="failed to get parent queue above")
        await world.until_told([left])
        await ground.delete(QUEUES.path("", "below"))
        await world.until_told([Broken(resource=POD_GROUPS, object=waiting, words="unable to find queue")])


async def test_what_was_mended_is_no_longer_so(ground: grounds.Ground) -> None:
    """The condition of a group whose queue comes turns False; another message is reported again."""
    operator, world = await with_all_controllers(ground), World(ground)
    waiting = {"metadata": {"name": "g", "namespace": NAMESPACE}, "spec": {"queue": "late", "minMember": 1}}
    late = queue_json("late", parent="root")
    case = Broken(resource=POD_GROUPS, object=waiting, words="")

    async def is_sound() -> bool:
        return await world.conditions(POD_GROUPS, case) == [("False", True)]

    async with ground.working(operator):
        await world.make(POD_GROUPS, waiting)
        await world.until_told([replace(case, words="unable to find queue")])
        await world.make(QUEUES, late)
        await ground.soon(is_sound)
        await world.change(QUEUES, {**late, "status": {"state": "Closed"}})
        await world.until_told([replace(case, words="queue `late` status is `Closed`")])


async def test_a_queue_and_what_waits_in_it_may_come_in_one_file(ground: grounds.Ground) -> None:
    """Groups, Jobs, queues below it: whichever comes first, nothing is complained about."""
    operator, world = await with_all_controllers(ground), World(ground)
    async with ground.working(operator):
        waiting = {"metadata": {"name": "g", "namespace": NAMESPACE}, "spec": {"queue": "child", "minMember": 1}}
        await world.make(POD_GROUPS, waiting)
        await world.make(JOBS, job(queue="child"))
        await operator.idle()
        await world.make(QUEUES, queue_json("child", parent="late"))
        await operator.idle()
        await world.make(QUEUES, queue_json("late", parent="root"))
        told = {"metadata": {"name": "h", "namespace": NAMESPACE}, "spec": {"queue": "gone", "minMember": 1}}
        await world.make(POD_GROUPS, told)
        await world.until_told([Broken(resource=POD_GROUPS, object=told, words="unable to find queue")])
        await operator.idle()

    events = await world.events()
    assert {each for each in events if events[each]} == {("PodGroup", "h")}
