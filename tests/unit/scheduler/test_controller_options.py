"""Options of the controllers' process: Volcano's flags, which controllers run, what is refused."""

import pytest

from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.commands import controllers as command
from pyroclast.scheduler.controllers.options import Options, parse_options
from pyroclast.scheduler.controllers.table import CONTROLLERS, chosen


def parsed(*arguments: str) -> Options:
    """Options of a command line."""
    return parse_options(arguments).options


def test_without_flags_all_controllers_run_but_sharding() -> None:
    """Under Volcano's lease and address."""
    options = parsed()

    assert options.chosen == [name for name in CONTROLLERS if name != "sharding-controller"]
    assert (options.leader_elect_resource_name, options.listen_address) == ("vc-controller-manager", ":8081")
    assert not options.enable_admission


def test_flags_configure_controllers() -> None:
    """Names and threads as Volcano has them."""
    options = parsed(
        "--scheduler-name=volcano",
        "--scheduler-name=batch",
        "--inherit-owner-annotations=false",
        "--worker-threads=7",
        "--worker-threads-for-podgroup=8",
        "--worker-threads-for-gc=9",
        "--feature-gates=WorkLoadSupport=false,QueueCommandSync=false",
        "--default-queue=main",
        "--topology-discovery=batch/network",
    )

    assert options.of_controllers == ControllerOptions(
        scheduler_names=("volcano", "batch"),
        default_queue="main",
        inherits_owner_annotations=False,
        follows_workloads=False,
        obeys_queue_commands=False,
        discovery_config_map=("batch", "network"),
        workers={"job": 7, "cronjob": 3, "podgroup": 8, "queue": 5, "garbage": 9},
    )


@pytest.mark.parametrize(
    ("given", "running"),
    [
        ("*", list(CONTROLLERS)),
        ("+queue-controller", ["queue-controller"]),
        ("queue-controller,pg-controller", ["pg-controller", "queue-controller"]),
        ("*,-job-controller", [name for name in CONTROLLERS if name != "job-controller"]),
        ("-job-controller", []),
    ],
)
def test_controllers_are_chosen_as_in_volcano(given: str, running: list[str]) -> None:
    """Selected by name, all but some, or some alone."""
    assert parsed(f"--controllers={given}").chosen == running


def test_gates_take_controllers_away() -> None:
    """VolcanoJobSupport and CronVolcanoJobSupport."""
    options = parsed("--controllers=*", "--feature-gates=VolcanoJobSupport=false,CronVolcanoJobSupport=false")

    assert {"job-controller", "cronjob-controller"} == set(CONTROLLERS) - set(options.chosen)


def test_controllers_that_are_not_here_are_warned_of() -> None:
    """And unknown ones are faults, with the nearest name."""
    assert chosen(["+colocation-config-controller"])[1] == [
        "--controllers: colocation-config-controller: without effect: colocation of nodes is not configured"
    ]
    with pytest.raises(ConfigError, match=r"job-contoller: unknown controller.*job-controller"):
        parsed("--controllers=job-contoller")
    with pytest.raises(ConfigError, match="both enabled and disabled"):
        parsed("--controllers=+job-controller,-job-controller")


def test_flags_configure_sharding() -> None:
    """The flags are Volcano's, and faults of shards have their text."""
    options = parsed(
        "--controllers=+sharding-controller",
        "--sharding-configmap=shards",
        "--sharding-configmap-namespace=batch",
        "--scheduler-configs=a:volcano:0:0.5:false:0:10",
        "--shard-sync-period=2m",
        "--enable-node-event-trigger=false",
    )
    found = options.of_controllers

    assert options.chosen == ["sharding-controller"]
    assert found.sharding_config_map == ("batch", "shards")
    assert found.shards == ("a:volcano:0:0.5:false:0:10",)
    assert (found.shard_period, found.shards_follow_nodes) == (120.0, False)
    with pytest.raises(ConfigError, match="--scheduler-configs: a:b: expected 7 parts"):
        parsed("--scheduler-configs=a:b")
    with pytest.raises(ConfigError, match=r"--shard-sync-period: got 0\.5s"):
        parsed("--shard-sync-period=500ms")


def test_all_faults_are_reported_together() -> None:
    """Values that cannot work, wherever they stand."""
    with pytest.raises(ConfigError) as error:
        parsed(
            "--worker-threads=0",
            "--scheduler-name=",
            "--leader-elect-renew-deadline=60s",
            "--enable-admission",
            "--max-queue-depth=0",
        )

    told = "\n".join(error.value.faults)
    assert "--worker-threads: got 0, expected at least 1" in told
    assert "--scheduler-name: got an empty name" in told
    assert "--leader-elect-lease-duration" in told
    assert "max-queue-depth: got 0" in told


def test_flags_without_effect_are_warned_of() -> None:
    """A deployment written for Volcano starts."""
    warnings = parse_options(["--max-requeue-num=5", "--kube-api-qps=100", "--logtostderr"]).warnings

    assert [warning.split(":")[0] for warning in warnings] == ["--max-requeue-num", "--kube-api-qps", "--logtostderr"]


def test_flags_configure_admission() -> None:
    """Volcano's names for rules, ours for the server beside the controllers."""
    admission = parsed(
        "--enable-admission",
        "--admission-address=127.0.0.1:9443",
        "--enabled-admission=/jobs/mutate,/jobs/validate",
        "--webhook-namespace=batch",
        "--max-queue-depth=3",
        "--enable-root-queue-protection=false",
    ).of_admission

    assert (admission.address, admission.paths) == ("127.0.0.1:9443", ("/jobs/mutate", "/jobs/validate"))
    assert (admission.namespace, admission.max_queue_depth, admission.protects_root_queue) == ("batch", 3, False)


def test_help_names_every_controller(capsys: pytest.CaptureFixture[str]) -> None:
    """And every flag."""
    assert command.main(["--help"]) == 0
    text = capsys.readouterr().out

    assert all(name in text for name in CONTROLLERS)
    assert "--inherit-owner-annotations" in text
    assert "--max-requeue-num" in text


@pytest.mark.parametrize("place", ["network", "a/b/c", "/b", "a/", ""])
def test_settings_of_discovery_are_an_object(place: str) -> None:
    """Namespace and name."""
    with pytest.raises(ConfigError, match="expected namespace/name"):
        parsed(f"--topology-discovery={place}")
