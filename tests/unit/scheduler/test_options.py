"""Options: flags as Go programs spell them, defaults of Volcano, every fault at once."""

import dataclasses

import pytest

from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.options import WITHOUT_EFFECT, Options, parse_options


def parsed(*arguments: str, **environment: str) -> Options:
    """Read a good command line."""
    return parse_options(arguments, environment).options


def faults(*arguments: str, **environment: str) -> tuple[str, ...]:
    """Read a command line that is refused."""
    with pytest.raises(ConfigError) as raised:
        parse_options(arguments, environment)
    return raised.value.faults


@pytest.mark.parametrize(
    "arguments",
    [
        ("--scheduler-conf=/etc/x.yaml",),
        ("--scheduler-conf", "/etc/x.yaml"),
        ("-scheduler-conf=/etc/x.yaml",),
        ("--scheduler_conf=/etc/x.yaml",),
    ],
)
def test_spellings_of_go_are_read(arguments: tuple[str, ...]) -> None:
    """A value may be attached or follow, after one dash or two, with `_` for `-`."""
    assert parsed(*arguments).scheduler_conf == "/etc/x.yaml"


def test_bare_boolean_is_true_and_takes_no_value() -> None:
    """A boolean without a value is true; the next argument is another flag."""
    options = parsed("--enable-metrics", "--leader-elect=false")

    assert options.enable_metrics
    assert not options.leader_elect


def test_repeated_names_replace_the_default() -> None:
    """Scheduler names come by repeating the flag, and commas are part of a name."""
    assert parsed().scheduler_name == ("volcano",)
    assert parsed("--scheduler-name=a", "--scheduler-name=b,c").scheduler_name == ("a", "b,c")


def test_lists_split_on_commas_and_repeat() -> None:
    """Node selectors come by commas and by repeating."""
    options = parsed("--node-selector=a:b,c:d", "--node-selector", "e:f")

    assert options.node_selector == ("a:b", "c:d", "e:f")


def test_durations_are_those_of_go() -> None:
    """A period of 1m500ms is 60.5 seconds."""
    assert parsed("--schedule-period=1m500ms").schedule_period == 60.5


def test_defaults_are_those_of_volcano() -> None:
    """A daemon without flags behaves as Volcano's does."""
    options = parsed()

    assert (options.schedule_period, options.default_queue, options.healthz_address) == (1.0, "default", ":11251")
    assert (options.lease_namespace, options.leader_elect_resource_name) == ("volcano-system", "volcano")
    assert options.leader_elect
    assert not options.enable_healthz


def test_all_faults_are_reported_together() -> None:
    """Faults of spelling, type, choice, gates, election and addresses come together, each with its flag."""
    found = faults(
        "--schedular-name=x",
        "--schedule-period=soon",
        "--scheduler-sharding-mode=Hard",
        "--feature-gates=WorkLoadSuport=true",
        "--leader-elect-lease-duration=5s",
        "--healthz-address=11251",
        "stray",
    )

    assert [fault.partition(":")[0] for fault in found] == [
        "--schedular-name",
        "--schedule-period",
        "--scheduler-sharding-mode",
        "stray",
        "--feature-gates",
        "--leader-elect-lease-duration",
        "--healthz-address",
    ]
    assert "did you mean 'scheduler-name'?" in found[0]
    assert "did you mean 'WorkLoadSupport'?" in found[4]


def test_last_flag_without_its_value_is_a_fault() -> None:
    """A flag at the end of the line that needs a value says so."""
    assert faults("--scheduler-conf") == ("--scheduler-conf: needs a value",)


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_flags_without_effect_are_accepted_with_a_warning(name: str) -> None:
    """A deployment written for Volcano starts, with warnings about flags without effect, and the reasons."""
    told = parse_options([f"--{name}=1"], {}).warnings

    assert told == (f"--{name}: without effect: {WITHOUT_EFFECT[name][1]}",)


def test_election_times_with_which_two_could_lead_are_refused() -> None:
    """The lease outlives the renewal, the renewal outlives its tries, as client-go demands."""
    found = faults(
        "--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=10s", "--leader-elect-retry-period=9s"
    )

    assert len(found) == 2


def test_election_times_do_not_matter_without_election() -> None:
    """Values of a lease that is not taken are not looked at."""
    assert not parsed("--leader-elect=false", "--leader-elect-lease-duration=1ms").leader_elect


def test_gates_by_name_outrank_gates_by_stage() -> None:
    """Alpha features are off, AllAlpha turns them on, a named gate keeps its own value."""
    gate = "SchedulingGatesQueueAdmission"

    assert not parsed().features.enabled(gate)
    assert parsed("--feature-gates=AllAlpha=true").features.enabled(gate)
    assert not parsed(f"--feature-gates={gate}=false,AllAlpha=true").features.enabled(gate)


def test_gates_of_kubernetes_are_accepted_with_a_warning() -> None:
    """Gates that only Kubernetes has do not stop the start."""
    (warning,) = parse_options(["--feature-gates=DynamicResourceAllocation=true"], {}).warnings

    assert "DynamicResourceAllocation" in warning


def test_gate_with_a_value_that_is_no_boolean_is_a_fault() -> None:
    """`maybe` is neither true nor false."""
    assert faults("--feature-gates=WorkLoadSupport=maybe") == (
        "--feature-gates: WorkLoadSupport: got 'maybe', expected true or false",
    )


def test_deprecated_namespace_flag_outranks_and_warns() -> None:
    """The old flag still works, and says what to use."""
    told = parse_options(["--lock-object-namespace=old"], {})

    assert told.options.lease_namespace == "old"
    assert any("--leader-elect-resource-namespace" in warning for warning in told.warnings)


def test_ring_member_comes_from_the_environment() -> None:
    """Several schedulers that share a cluster by hash get their place from environment variables."""
    options = parsed(MULTI_SCHEDULER_ENABLE="true", SCHEDULER_POD_NAME="volcano-1", SCHEDULER_NUM="3")

    assert (options.environment.ring_member, options.environment.ring_size) == ("volcano-1", 3)


def test_ring_member_without_a_number_is_a_fault() -> None:
    """A pod name without a dash has no place in the ring; Volcano crashes on it."""
    (fault,) = faults(MULTI_SCHEDULER_ENABLE="true", SCHEDULER_POD_NAME="volcano", SCHEDULER_NUM="3")

    assert fault.startswith("SCHEDULER_POD_NAME")


def test_every_flag_has_a_help_text() -> None:
    """`--help` leaves no flag unexplained."""
    assert all(each.metadata["help"].endswith(".") for each in dataclasses.fields(Options) if "kind" in each.metadata)
