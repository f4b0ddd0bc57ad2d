import json
from typing import Any

import pytest

from pyroclast.controllers.jobs.plugins.plugin import OwnedKey
from pyroclast.controllers.jobs.plugins.registry import PLUGINS, plugin_faults, plugins_of
from tests.unit.controllers.jobs.plugins.objects import env, job, pod, regular, task

MASTER_AND_WORKERS = (task("master"), task("worker", 2), task("extra"))


def test_env_adds_the_index_to_all_containers() -> None:
    """Under the name of today and that of old."""
    made = pod(job(task("worker", 3, initContainers=[{"name": "init"}]), plugins={"env": []}), "worker", 2)["spec"]

    for container in (*made["containers"], *made["initContainers"]):
        assert env(container) == {"VK_TASK_INDEX": "2", "VC_TASK_INDEX": "2"}


@pytest.mark.parametrize(
    ("name", "index", "rank"), [("master", 0, "0"), ("worker", 0, "1"), ("worker", 1, "2"), ("extra", 0, None)]
)
def test_pytorch_ranks(name: str, index: int, rank: str | None) -> None:
    """The master is 0, workers follow, others have none but know the rest."""
    container = regular(pod(job(*MASTER_AND_WORKERS, plugins={"pytorch": []}), name, index))

    assert env(container) == {
        "MASTER_ADDR": "train-master-0.train",
        "MASTER_PORT": "23456",
        "WORLD_SIZE": "3",
        **({"RANK": rank} if rank else {}),
    }
    assert container["ports"] == [{"name": "pytorchjob-port", "containerPort": 23456}]


def test_pytorch_without_master_does_nothing() -> None:
    """There is nothing to wait for."""
    assert "env" not in regular(pod(job(task("worker"), plugins={"pytorch": []}), "worker"))


def test_pytorch_leaves_an_open_port() -> None:
    """A port that the user opened is not opened twice."""
    ports = [{"name": "own", "containerPort": 23456}]
    of = job(task("master", containers=[{"name": "m", "ports": ports}]), plugins={"pytorch": []})

    assert regular(pod(of, "master"))["ports"] == ports


def test_pytorch_takes_names_of_the_template() -> None:
    """The master's own hostname and subdomain are its address."""
    of = job(task("master", hostname="h", subdomain="s"), task("worker"), plugins={"pytorch": ["--port=1"]})

    assert env(regular(pod(of, "worker")))["MASTER_ADDR"] == "h.s"


def test_pytorch_workers_may_wait() -> None:
    """An init container probes the master's port, on workers alone, and once."""
    arguments = ["--wait-master-enabled", "--wait-master-timeout=60", "--wait-master-image=probe"]
    of = job(*MASTER_AND_WORKERS, plugins={"pytorch": arguments})

    (wait,) = pod(of, "worker")["spec"]["initContainers"]
    assert (wait["name"], wait["image"], wait["command"][:2]) == ("wait-for-master", "probe", ["sh", "-c"])
    assert "nc -z train-master-0.train 23456" in wait["command"][2]
    assert '[ "$waited" -ge 60 ]' in wait["command"][2]
    assert "initContainers" not in pod(of, "master")["spec"]


def test_mpi_master_gets_its_workers() -> None:
    """Every container opens the port; the master's know the hosts."""
    of = job(task("master", initContainers=[{"name": "init"}]), task("worker", 2), plugins={"mpi": ["--port=5000"]})
    master, worker = pod(of, "master")["spec"], regular(pod(of, "worker"))

    for container in (*master["containers"], *master["initContainers"]):
        assert env(container) == {"MPI_HOST": "train-worker-0.train,train-worker-1.train"}
        assert container["ports"] == [{"name": "mpijob-port", "containerPort": 5000}]
    assert worker["ports"] == [{"name": "mpijob-port", "containerPort": 5000}]
    assert env(worker) == {}


def test_mpi_master_without_workers_stays() -> None:
    """Neither port nor variable, as in Volcano."""
    assert regular(pod(job(task("master"), plugins={"mpi": []}), "master")) == {"name": "master", "image": "train"}


def test_tensorflow_describes_the_cluster() -> None:
    """Roles in a fixed order, without empty ones; the task's own role and index."""
    of = job(task("worker", 2), task("ps"), task("chief", 0), plugins={"tensorflow": []})

    assert env(regular(pod(of, "worker", 1)))["TF_CONFIG"] == (
        '{"cluster":{"ps":["train-ps-0.train:2222"],'
        '"worker":["train-worker-0.train:2222","train-worker-1.train:2222"]},'
        '"task":{"type":"worker","index":1}}'
    )


def test_tensorflow_roles_may_have_other_names() -> None:
    """Flags name the tasks; a task without a role is its own."""
    of = job(task("server"), task("boss"), task("viewer"), plugins={"tensorflow": ["--ps=server", "--chief=boss"]})

    def role(name: str) -> Any:
        return json.loads(env(regular(pod(of, name)))["TF_CONFIG"])["task"]["type"]

    assert (role("server"), role("boss"), role("viewer")) == ("ps", "chief", "viewer")


def test_tensorflow_alone_needs_no_cluster() -> None:
    """One task of one pod is left as it is."""
    assert "env" not in regular(pod(job(task("worker"), plugins={"tensorflow": []}), "worker"))


def test_ray_starts_head_and_workers() -> None:
    """The named containers run Ray, the head opens its ports."""
    of = job(task("head"), task("worker", 2), plugins={"ray": ["--port=6380"]})
    head, worker = regular(pod(of, "head")), regular(pod(of, "worker", 1))

    start = "ray start --head --block --dashboard-host=0.0.0.0"
    ports = "--port=6380 --dashboard-port=8265 --ray-client-server-port=10001"
    assert head["command"] == ["sh", "-c", f"{start} {ports}"]
    assert head["ports"] == [
        {"name": "gcs", "containerPort": 6380},
        {"name": "dashboard", "containerPort": 8265},
        {"name": "client-server", "containerPort": 10001},
    ]
    assert worker["command"] == ["sh", "-c", "ray start --block --address=train-head-0.train:6380"]
    assert "ports" not in worker


def test_ray_leaves_other_containers() -> None:
    """Only the container of the flag's name runs Ray."""
    of = job(task("head", containers=[{"name": "log"}, {"name": "main"}]), plugins={"ray": ["--headContainer=main"]})

    made = pod(of, "head")

    assert "command" not in regular(made, 0)
    assert regular(made, 1)["command"][0] == "sh"


def test_ray_has_a_service_for_its_head() -> None:
    """It selects the head's pods and names their ports."""
    of = job(task("head"), plugins={"ray": []})
    (plugin,) = plugins_of(of)
    (service,) = plugin.objects(of, {})

    assert service.key == OwnedKey("Service", "train-head-svc")
    assert service.manifest["spec"]["selector"] == {
        "volcano.sh/job-name": "train",
        "volcano.sh/job-namespace": "team",
        "volcano.sh/task-spec": "head",
    }
    assert [(port["name"], port["port"], port["targetPort"]) for port in service.manifest["spec"]["ports"]] == [
        ("gcs", 6379, 6379),
        ("dashboard", 8265, 8265),
        ("client-server", 10001, 10001),
    ]


def test_ray_without_head_makes_no_pods() -> None:
    """Nothing could start: the fault is fatal."""
    (fault,) = plugin_faults(job(task("worker"), plugins={"ray": []}))

    assert fault.is_fatal
    assert fault.message == "job train has no head task 'head', which job plugin ray needs"


@pytest.mark.parametrize(
    ("name", "index", "rank"), [("master", 0, "0"), ("worker", 0, "1"), ("worker", 1, "2"), ("extra", 0, None)]
)
def test_hcclrank_counts_masters_first(name: str, index: int, rank: str | None) -> None:
    """Others have none."""
    made = pod(job(*MASTER_AND_WORKERS, plugins={"hcclrank": []}), name, index)

    assert made["metadata"]["annotations"].get("hccl/rankIndex") == rank


def test_hcclrank_takes_the_rank_that_another_plugin_gave() -> None:
    """It comes last, so that pytorch's rank is there."""
    arguments: dict[str, Any] = {"hcclrank": ["--worker=nobody"], "pytorch": []}
    made = pod(job(*MASTER_AND_WORKERS, plugins=arguments), "worker", 1)

    assert made["metadata"]["annotations"]["hccl/rankIndex"] == "2"


def test_hcclrank_leaves_the_templates_rank() -> None:
    """What the user wrote holds."""
    worker = task("worker")
    worker["template"]["metadata"] = {"annotations": {"hccl/rankIndex": "7"}}

    assert pod(job(worker, plugins={"hcclrank": []}), "worker")["metadata"]["annotations"]["hccl/rankIndex"] == "7"


def test_plugins_come_in_a_fixed_order() -> None:
    """Whatever the order in the job."""
    of = job(task("head"), plugins={name: [] for name in reversed(PLUGINS)})

    assert [plugin.name for plugin in plugins_of(of)] == [
        "svc",
        "ssh",
        "env",
        "tensorflow",
        "mpi",
        "pytorch",
        "ray",
        "hcclrank",
    ]


def test_only_hcclrank_is_not_recorded() -> None:
    """It owns nothing that would have to be remembered."""
    assert [name for name, build in PLUGINS.items() if not build([]).is_recorded] == ["hcclrank"]


def test_unknown_plugins_are_fatal() -> None:
    """Each is named with what there is."""
    faults = plugin_faults(job(task("a"), plugins={"scv": [], "enf": [], "env": []}))

    assert [(fault.path, fault.is_fatal) for fault in faults] == [
        ("spec.plugins[enf]", True),
        ("spec.plugins[scv]", True),
    ]
    assert faults[0].message == "unable to find job plugin: enf"
    assert "env" in faults[0].expected
