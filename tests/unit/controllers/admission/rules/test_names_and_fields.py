"""Small things that admission takes as they are meant: names of the tree and of tasks, and fields unknown to it."""

import jsonpatch
import pytest

from pyroclast.controllers.admission.rules.jobs import defaulted as job_defaults
from pyroclast.controllers.admission.rules.jobs import faults_of as job_faults
from pyroclast.controllers.admission.rules.queues import defaulted as queue_defaults
from pyroclast.controllers.admission.rules.queues import faults_of as queue_faults
from pyroclast.model.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from tests.unit.controllers.admission.objects import container, fields_of, job, queue_json, task


def test_a_path_begins_at_the_root_and_at_no_namesake() -> None:
    """`rooted/a` is a path below the root."""
    given = queue_json(annotations={HIERARCHY: "rooted/a", HIERARCHY_WEIGHTS: "1/2"})

    completed = jsonpatch.apply_patch(given, queue_defaults(given))

    assert completed["metadata"]["annotations"] == {HIERARCHY: "root/rooted/a", HIERARCHY_WEIGHTS: "1/1/2"}


@pytest.mark.parametrize("weight", ["NaN", "Inf", "-inf"])
def test_weights_are_finite(weight: str) -> None:
    """What no share can be divided by is no weight."""
    faults = queue_faults(queue_json(annotations={HIERARCHY: "root/a", HIERARCHY_WEIGHTS: f"1/{weight}"}))

    assert fields_of(faults) == [f"metadata.annotations[{HIERARCHY_WEIGHTS}]"]


def test_unknown_fields_of_tasks_and_plugins_stay() -> None:
    """Defaults are filled in beside them."""
    given = job({"replicas": 1, "fromLater": {"x": 1}, "template": {"spec": {"containers": [container()]}}})
    given["spec"]["plugins"] = {"pytorch": ["--master=m"], "fromLater": ["--y"]}

    spec = jsonpatch.apply_patch(given, job_defaults(given))["spec"]

    assert spec["tasks"][0] == {**given["spec"]["tasks"][0], "name": "default0", "minAvailable": 1, "maxRetry": 3}
    assert spec["plugins"] == {"pytorch": ["--master=m"], "fromLater": ["--y"], "svc": []}


def test_a_task_named_twice_among_dependencies_is_no_circle() -> None:
    """A name counts once."""
    assert job_faults(job(task("a"), task("b", dependsOn={"name": ["a", "a"]}), minAvailable=2)) == ()


def test_a_task_without_a_name_is_left_to_the_controller() -> None:
    """Which names it as the webhook would."""
    nameless = task()
    del nameless["name"]

    assert job_faults(job(nameless)) == ()
