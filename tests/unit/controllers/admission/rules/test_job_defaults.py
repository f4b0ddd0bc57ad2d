"""Jobs: what is filled in."""

import jsonpatch
import pytest

from pyroclast.controllers.admission.rules.jobs import defaulted
from tests.unit.controllers.admission.objects import Json, container, job, task


def completed(value: Json, **options: str) -> Json:
    """The Job with its defaults."""
    done: Json = jsonpatch.apply_patch(value, defaulted(value, **options))
    return done


def bare(**spec: object) -> Json:
    """A Job with as little as possible."""
    pod = {"template": {"spec": {"containers": [container()]}}}
    return {"metadata": {"name": "j"}, "spec": {"tasks": [{"replicas": 2, **pod}, {"replicas": 3, **pod}], **spec}}


def test_everything_left_out_is_filled_in() -> None:
    """Queue, scheduler, retries, names of tasks, minimums of tasks and of the Job."""
    spec = completed(bare())["spec"]

    assert (spec["queue"], spec["schedulerName"], spec["maxRetry"], spec["minAvailable"]) == (
        "default",
        "volcano",
        3,
        5,
    )
    assert [(task["name"], task["minAvailable"], task["maxRetry"]) for task in spec["tasks"]] == [
        ("default0", 2, 3),
        ("default1", 3, 3),
    ]


def test_what_is_given_stays() -> None:
    """A complete Job needs no patch."""
    complete = job(task(maxRetry=1), schedulerName="mine", maxRetry=7)

    assert defaulted(complete) == []


def test_the_scheduler_is_the_one_configured_first() -> None:
    """Another name than volcano's may be configured."""
    assert completed(bare(), scheduler_name="pyro")["spec"]["schedulerName"] == "pyro"


@pytest.mark.parametrize(("partitions", "minimum"), [(0, 8), (1, 4), (2, 8)])
def test_the_minimum_of_partitions(partitions: int, minimum: int) -> None:
    """Partitions of 4: with a minimum of partitions its pods, without one all replicas."""
    policy = {"totalPartitions": 2, "partitionSize": 4, "minPartitions": partitions}
    value = job(task(replicas=8, minAvailable=None, partitionPolicy=policy), minAvailable=0)

    spec = completed(value)["spec"]

    assert spec["tasks"][0]["minAvailable"] == minimum
    assert spec["minAvailable"] == minimum


@pytest.mark.parametrize("policy", [None, "Default"])
def test_pods_on_the_host_network_resolve_names_of_the_cluster(policy: str | None) -> None:
    """Only where no policy is given."""
    value = job(task())
    pod = value["spec"]["tasks"][0]["template"]["spec"]
    pod |= {"hostNetwork": True} | ({"dnsPolicy": policy} if policy else {})

    done = completed(value)["spec"]["tasks"][0]["template"]["spec"]

    assert done["dnsPolicy"] == (policy or "ClusterFirstWithHostNet")


@pytest.mark.parametrize(
    ("plugins", "added"),
    [
        ({"mpi": []}, {"svc": [], "ssh": []}),
        ({"pytorch": []}, {"svc": []}),
        ({"tensorflow": [], "svc": ["--inject-hosts-env=false"]}, {}),
        ({"ray": []}, {"svc": []}),
        ({"env": []}, {}),
        ({}, {}),
    ],
)
def test_plugins_bring_those_they_need(plugins: Json, added: Json) -> None:
    """Frameworks need host names, mpi needs keys too; what is there keeps its arguments."""
    assert completed(job(plugins=plugins))["spec"]["plugins"] == {**plugins, **added}


@pytest.mark.parametrize(
    "spec",
    [None, "x", [], {"tasks": "x"}, {"tasks": [1, None]}, {"tasks": [{"replicas": "x"}]}, {"plugins": "mpi"}],
)
def test_what_has_a_wrong_type_is_left_to_the_server(spec: object) -> None:
    """The patch, if any, touches nothing that is wrong."""
    paths = [patch["path"] for patch in defaulted({"metadata": {}, "spec": spec})]

    assert "/spec/minAvailable" not in paths
    assert not [path for path in paths if path.startswith("/spec/plugins") or path.endswith("/minAvailable")]
