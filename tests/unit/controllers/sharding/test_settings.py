"""Settings of sharding are read with all their faults."""

import pytest
import yaml

from pyroclast.controllers.runtime.options import DEFAULT_SHARDS
from pyroclast.controllers.sharding.assignment import CpuRange, NodeLimit, Shard, Warmup
from pyroclast.controllers.sharding.settings import read_flags, read_settings
from tests.changeddocuments import changed, places

WHOLE = """
schedulerConfigs:
  - name: volcano
    type: volcano
    policies:
      - {name: allocation-rate, weight: 3, arguments: {minCPUUtil: 0.1, maxCPUUtil: 0.6}}
      - {name: warmup, weight: 2, arguments: {warmupLabel: warm, warmupLabelValue: "yes"}}
      - {name: node-limit, arguments: {minNodes: 2, maxNodes: 100}}
  - name: agent-scheduler
    policies: [{name: allocation-rate}]
shardSyncPeriod: 30s
enableNodeEventTrigger: false
"""


def test_volcanos_settings_are_read() -> None:
    """An omitted weight is 1, and an omitted maximum of CPU is 1."""
    settings = read_settings(WHOLE)

    assert settings.faults == ()
    assert (settings.period_seconds, settings.follows_nodes) == (30.0, False)
    assert settings.shards == (
        Shard(
            name="volcano",
            ranges=(CpuRange(minimum=10, maximum=60, weight=3),),
            warmups=(Warmup(label="warm", value="yes", weight=2),),
            limits=(NodeLimit(minimum=2, maximum=100),),
        ),
        Shard(name="agent-scheduler", ranges=(CpuRange(minimum=0, maximum=100, weight=1),)),
    )


def test_older_keys_and_flags_are_policies() -> None:
    """As Volcano converts them."""
    text = (
        "schedulerConfigs: [{name: a, cpuUtilizationMin: 0.7, cpuUtilizationMax: 1.0, preferWarmupNodes: true, "
        "minNodes: 2, maxNodes: 100}]"
    )
    expected = Shard(
        name="a",
        ranges=(CpuRange(minimum=70, maximum=100),),
        warmups=(Warmup(),),
        limits=(NodeLimit(minimum=2, maximum=100),),
    )

    assert read_settings(text).shards == (expected,)
    assert read_flags(["a:agent:0.7:1.0:true:2:100"]).shards == (expected,)
    assert read_flags(DEFAULT_SHARDS).faults == ()


def one(entry: str) -> str:
    """Return settings with one shard."""
    return f"schedulerConfigs: [{entry}]"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "schedulerConfigs: expected at least one entry"),
        ("a: [", "the text is not YAML"),
        ("[]", "the text: got [], expected a mapping"),
        ("schedulerConfigs: {}", "schedulerConfigs: expected a list of at most 64 entries"),
        (one("7"), "schedulerConfigs[0]: got 7, expected a mapping"),
        (one("{name: A/b}"), "schedulerConfigs[0].name: got 'A/b'"),
        (one("{name: a}, {name: a}"), "schedulerConfigs: 'a' is there twice"),
        (one("{name: a, maxnodes: 7}"), "schedulerConfigs[0]: unknown key 'maxnodes'"),
        (one("{name: a, policies: [{name: load}]}"), "policies[0].name: got 'load', expected one of allocation-rate"),
        (one("{name: a, policies: [{name: warmup, weight: -1}]}"), "policies[0].weight: got -1"),
        (one("{name: a, policies: [{name: warmup, arguments: {maxNodes: 1}}]}"), "unknown key 'maxNodes'"),
        (one("{name: a, policies: [{name: warmup, arguments: {warmupLabel: ''}}]}"), "warmupLabel: got ''"),
        (
            one("{name: a, policies: [{name: node-limit, arguments: {minNodes: 3, maxNodes: 2}}]}"),
            "maxNodes 2 is less than minNodes 3",
        ),
        (
            one("{name: a, policies: [{name: allocation-rate, arguments: {maxCPUUtil: 1.5}}]}"),
            "maxCPUUtil: got 1.5, expected a number from 0 to 1",
        ),
        (
            one("{name: a, policies: [{name: allocation-rate, arguments: {minCPUUtil: 0.7, maxCPUUtil: 0.6}}]}"),
            "minCPUUtil is greater than maxCPUUtil",
        ),
        (one("{name: a}") + "\nshardSyncPeriod: 0s", "shardSyncPeriod: got '0s', expected 1s to 24h"),
        (one("{name: a}") + "\nshardSyncPeriod: soon", "shardSyncPeriod: got 'soon'"),
        (one("{name: a}") + "\nenableNodeEventTrigger: 1", "enableNodeEventTrigger: got 1, expected true or false"),
        (one(", ".join(f"{{name: n{number}}}" for number in range(65))), "expected a list of at most 64 entries"),
    ],
)
def test_a_fault_has_its_path(text: str, fault: str) -> None:
    """Settings with a fault are not used."""
    assert any(fault in each for each in read_settings(text).faults), read_settings(text).faults


@pytest.mark.parametrize(
    "entry", ["a:b", "a:b:x:1:true:1:2", "a:b:0:1:maybe:1:2", "A:b:0:1:true:1:2", "a:b:0:nan:true:1:2"]
)
def test_a_faulty_flag_is_named(entry: str) -> None:
    """With its text."""
    (fault, *_) = read_flags([entry]).faults

    assert fault.startswith(entry)


@pytest.mark.parametrize("value", [None, True, -1, 1e999, "", "x", [7], {"name": None}, {7: 8}, 10**30])
def test_any_value_at_any_place_is_read_without_an_exception(value: object) -> None:
    """It has an effect, or a fault."""
    document = yaml.safe_load(WHOLE)
    for path in places(document):
        read_settings(yaml.safe_dump(changed(document, path, value)))
