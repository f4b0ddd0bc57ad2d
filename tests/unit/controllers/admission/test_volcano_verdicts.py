"""Verdicts of Volcano's own webhooks (ed72c7c) on generated objects, measured once: ours are the same.

The first line of the file has trees of queues; each other line a question, with what Volcano said: whether it allowed
the object, or how it completed it. Where we differ on purpose there is none (docs/compatibility/admission.md).
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonpatch
import msgspec
import pytest

from pyroclast.controllers.admission.handlers import SERVICES, AdmissionPolicy, KnownCluster, review_object
from pyroclast.controllers.admission.lookups import QueuesByName
from pyroclast.controllers.admission.reviews import Review, ReviewedResource
from pyroclast.model.api.scheduling import Queue
from tests.unit.controllers.admission.objects import Json

LINES = [json.loads(line) for line in (Path(__file__).parent / "verdicts.jsonl").read_text().splitlines()]
TREES: list[list[Json]] = LINES[0]["trees"]
CASES: list[Json] = LINES[1:]


@cache
def tree(number: int) -> QueuesByName:
    """One of the trees."""
    return QueuesByName(msgspec.convert(TREES[number], list[Queue]))


def review(case: Json) -> Review:
    """The question."""
    service, request = SERVICES[case["path"]], case["request"]
    return Review(
        uid="u",
        resource=ReviewedResource(group=service.group, resource=service.resource),
        namespace="ns",
        name=request["name"],
        operation=request["operation"],
        object=request.get("object"),
        old_object=request.get("oldObject"),
    )


def completed(value: Json) -> Json:
    """What webhooks fill in, of a Job or a queue."""
    spec: Any = value["spec"]
    if value["kind"] == "Queue":
        chosen = {name: spec.get(name) for name in ("reclaimable", "weight")}
        return {"annotations": value["metadata"].get("annotations"), **chosen}
    tasks = [{name: task.get(name) for name in ("name", "minAvailable", "maxRetry")} for task in spec["tasks"]]
    names = ("queue", "schedulerName", "maxRetry", "minAvailable", "plugins")
    return {**{name: spec.get(name) for name in names}, "tasks": tasks}


def moves_to_another_queue(case: Json) -> bool:
    """Return whether an update changes the queue of a Job and nothing else, which A24 permits."""
    old, new = case["request"].get("oldObject"), case["request"].get("object")
    if old is None or new is None or new.get("kind") != "Job" or old["spec"]["queue"] == new["spec"]["queue"]:
        return False
    return bool({**old["spec"], "queue": ""} == {**new["spec"], "queue": ""})


@pytest.mark.parametrize("path", sorted({case["path"] for case in CASES}))
def test_verdicts_are_volcanos(path: str) -> None:
    """Allowed, refused or completed alike, at every path."""
    differing = []
    for case in (each for each in CASES if each["path"] == path):
        known = KnownCluster(lookups=tree(case.get("tree", 0)))
        verdict = review_object(SERVICES[path], review(case), AdmissionPolicy(), known)
        if "completed" in case:
            patched = jsonpatch.apply_patch(case["request"]["object"], list(verdict.patches))
            is_same = completed(patched) == case["completed"]
        else:
            is_same = (not verdict.faults) is (case["allowed"] or moves_to_another_queue(case))
        if not is_same:
            differing.append((case, [str(fault) for fault in verdict.faults]))

    assert differing == []
