"""Lists of hosts that are too long for a process to start, and plugins that do not do what their users mean."""

import pytest

from pyroclast.controllers.jobs.plugins.hosts import MOST_ENV_BYTES, fits_in_env, hosts_bytes, hosts_of
from pyroclast.controllers.jobs.plugins.registry import plugin_faults
from pyroclast.model.api.batch import Job
from tests.unit.controllers.jobs.plugins.objects import env, job, pod, regular, task

LONG = "pretraining-of-a-large-model-run-20261129"


def messages(of: Job) -> list[str]:
    """What is said about the plugins of a Job."""
    return [fault.message for fault in plugin_faults(of)]


@pytest.mark.parametrize("replicas", [0, 1, 10, 11, 101, 1500])
def test_the_length_of_a_list_is_counted(replicas: int) -> None:
    """As it is written."""
    of = job(task("worker", replicas), plugins={"svc": []})
    written = ",".join(".".join(host) for host in hosts_of(of, of.spec.tasks[0]))

    assert hosts_bytes(of, of.spec.tasks[0]) == len(written)


def test_linux_takes_a_variable_of_128_kib() -> None:
    """With its name, the sign between, and the zero behind it."""
    assert fits_in_env("NAME", MOST_ENV_BYTES - len("NAME=") - 1)
    assert not fits_in_env("NAME", MOST_ENV_BYTES - len("NAME="))


def test_a_list_that_is_too_long_is_left_out_and_named() -> None:
    """The number stays, and the file that has the hosts."""
    of = job(task("master"), task("worker", 1500), name=LONG, plugins={"svc": [], "ssh": [], "mpi": []})
    variables = env(regular(pod(of, "master")))

    assert {"VC_WORKER_HOSTS", "MPI_HOST"}.isdisjoint(variables)
    assert {"VC_MASTER_HOSTS", "VC_WORKER_NUM"} <= variables.keys()
    assert messages(of) == [
        (
            "VC_WORKER_HOSTS is left out: with 142889 bytes no process could start; the hosts are in "
            "/etc/volcano/worker.host"
        ),
        "MPI_HOST is left out: with 142889 bytes no process could start; the workers are in /etc/volcano/worker.host",
    ]


def test_no_message_if_the_variables_are_disabled() -> None:
    """They are not needed."""
    assert messages(job(task("worker", 1500), name=LONG, plugins={"svc": ["--inject-hosts-env=false"]})) == []


def test_hosts_that_no_config_map_can_hold_stop_the_job() -> None:
    """Its pods could never start."""
    (fault,) = plugin_faults(job(task("worker", 9000), name=LONG, plugins={"svc": ["--inject-hosts-env=false"]}))

    assert fault.is_fatal
    assert "cannot hold" in fault.message


def test_a_cluster_too_large_for_tf_config_stops_the_job() -> None:
    """No process can start with it, and with many containers each pod would be megabytes large."""
    (fault,) = plugin_faults(job(task("worker", 2000), name=LONG, plugins={"tensorflow": []}))

    assert fault.is_fatal
    assert fault.message.startswith("TF_CONFIG has more than")


def test_tf_config_follows_the_job_that_is_described() -> None:
    """The addresses are made once for the pods of a Job, and anew for another Job or other flags."""
    one, other = job(task("worker", 2), plugins={"tensorflow": []}), job(task("worker", 3), plugins={"tensorflow": []})
    ports = job(task("worker", 2), plugins={"tensorflow": ["--port=1234"]})
    values = [env(regular(pod(of, "worker")))["TF_CONFIG"] for of in (one, other, ports, one)]

    assert values[0] == values[3]
    assert [value.count(":2222") for value in values] == [2, 3, 0, 2]
    assert values[2].count(":1234") == 2


def test_two_ports_of_ssh_are_reported() -> None:
    """Mpi opens one, and ssh's configuration names another."""
    tasks = task("master"), task("worker")
    (said,) = messages(job(*tasks, plugins={"mpi": ["--port=2222"], "ssh": [], "svc": []}))

    assert said == "job plugin mpi opens port 2222, and clients of ssh use port 22: give ssh --ssh-port=2222"
    assert messages(job(*tasks, plugins={"mpi": ["--port=2222"], "ssh": ["--ssh-port=2222"], "svc": []})) == []


def test_ray_keeps_a_command_that_starts_ray() -> None:
    """It starts more behind it, and opens the ports all the same."""
    own = ["/bin/bash", "-c", "ray start --head --port=6379; my-server /model --port 8080"]
    of = job(task("head", containers=[{"name": "head", "command": own}]), plugins={"ray": []})
    head = regular(pod(of, "head"))

    assert head["command"] == own
    assert [port["containerPort"] for port in head["ports"]] == [6379, 8265, 10001]
    assert messages(of) == ["container head of task head starts Ray itself: its command is kept"]


def test_ray_says_whose_command_it_replaces() -> None:
    """As Volcano does in silence."""
    worker = task("worker", containers=[{"name": "worker", "command": ["sleep", "5"]}])
    of = job(task("head"), worker, plugins={"ray": []})

    assert regular(pod(of, "worker"))["command"][:2] == ["sh", "-c"]
    assert messages(of) == ["job plugin ray replaces the command of container worker of task worker"]


def test_ray_starts_in_the_only_container_whatever_its_name() -> None:
    """Where it brings no command of its own."""
    of = job(task("head", containers=[{"name": "main", "image": "ray"}]), plugins={"ray": []})

    assert regular(pod(of, "head"))["command"][2].startswith("ray start --head")
    assert messages(of) == []


def test_ray_says_that_no_container_runs_it() -> None:
    """The names do not match, and there is no telling which one is meant."""
    of = job(task("head", containers=[{"name": "main"}, {"name": "side"}]), plugins={"ray": []})

    assert "command" not in regular(pod(of, "head"))
    assert messages(of) == [
        "no container of task head runs Ray: they are named main, side, and --headContainer names none of them"
    ]
