"""A KubeSchedulerConfiguration is translated, and what has no counterpart is named."""

import json
from contextlib import suppress
from typing import Any

import pytest

from pyroclast.framework.configuration import Parsed, Profile
from pyroclast.framework.diagnosis.lint import check
from pyroclast.framework.extension.registry import Registry
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.registry import load_registry
from tests.changeddocuments import changed, places
from tests.koordinatorconfiguration import SHIPPED, enabled, file_of


def read(document: dict[str, Any], registry: Registry | None = None) -> Parsed:
    """Read a file."""
    return read_configuration(document, registry or load_registry())


def profile(**parts: Any) -> Profile:
    """Return the translation of one profile."""
    return read(file_of(**parts)).configuration.profiles[0]


def arguments(of: Profile, instance: str) -> dict[str, Any]:
    """Return the arguments of a plugin."""
    (found,) = [option for option in of.plugins if option.instance == instance]
    return dict(found.arguments)


def names(of: Profile) -> list[list[str]]:
    """Return the instances of each tier."""
    return [[option.instance for option in tier] for tier in of.tiers]


def test_a_file_without_profiles_is_a_profile_of_kube_scheduler() -> None:
    """Its filters, its scores with their weights, its order, and its preemption."""
    parsed = read({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"})
    (found,) = parsed.configuration.profiles

    assert found.scheduler_names == ("default-scheduler",)
    assert found.actions == ("enqueue", "allocate", "preempt", "backfill")
    assert names(found) == [["priority", "gang"], ["predicates", "nodeorder"]]
    assert arguments(found, "predicates") == {}
    assert arguments(found, "nodeorder") == {
        "tainttoleration.weight": 3,
        "nodeaffinity.weight": 2,
        "podtopologyspread.weight": 2,
        "podaffinity.weight": 2,
        "balancedresource.weight": 1,
        "imagelocality.weight": 1,
        "leastrequested.weight": 1,
        "mostrequested.weight": 0,
    }
    assert parsed.warnings == ()


def test_koordinators_configuration_is_translated() -> None:
    """All its plugins, with their weights, arguments and Koordinator's own defaults."""
    (found,) = read(SHIPPED).configuration.profiles

    assert found.scheduler_names == ("koord-scheduler",)
    assert found.actions == ("enqueue", "allocate", "preempt", "backfill")
    assert names(found) == [
        ["priority", "coscheduling", "gang", "elastic-quota"],
        ["predicates", "nodeorder", "NodeResourcesFit", "load-aware", "nodenuma", "deviceshare", "reservation"],
    ]
    assert arguments(found, "elastic-quota") == {"monitorAllQuotas": False, "enableCheckParentQuota": False}
    assert arguments(found, "load-aware")["usageThresholds"] == {"cpu": 0, "memory": 0}
    assert arguments(found, "reservation") == {"reservation.weight": 5000}
    assert arguments(found, "deviceshare") == {"deviceshare.KoordinatorEnable": True, "deviceshare.ScheduleWeight": 1}
    fit = arguments(found, "NodeResourcesFit")
    assert fit["resourceStrategyFitWeight"] == 1
    assert fit["resources"]["kubernetes.io/batch-cpu"] == {"type": "LeastAllocated", "weight": 1}
    assert arguments(found, "nodeorder")["leastrequested.weight"] == 0


def test_each_part_of_koordinators_configuration_without_effect_is_named() -> None:
    """With the flag to set, or the reason, at its path in the file. The check prints the same."""
    warnings = read(SHIPPED).warnings

    assert warnings[:6] == (
        "leaderElection.leaderElect: no effect in this file: set --leader-elect=true",
        "leaderElection.resourceLock: no effect in this file: set --leader-elect-resource-lock=leases",
        "leaderElection.resourceName: no effect in this file: set --leader-elect-resource-name=koord-scheduler",
        (
            "leaderElection.resourceNamespace: no effect in this file: "
            "set --leader-elect-resource-namespace=koordinator-system"
        ),
        (
            "profiles[0].pluginConfig[2].args.quotaGroupNamespace: no effect: "
            "set --quota-group-namespace of `pyroclast controllers`"
        ),
        (
            "profiles[0].plugins.preFilter.enabled[0]: no effect: plugin 'SchedulingHint' is not here: "
            "hints of nodes are not read, and all nodes are tried"
        ),
    )
    found = {f"{each.path}: {each.message}" for each in check(json.dumps(SHIPPED), read_text)}
    assert set(warnings) <= found


def test_a_config_map_of_koordinator_is_checked() -> None:
    """Under Koordinator's key, with the paths of the file."""
    data = {"koord-scheduler-config": json.dumps(file_of(**enabled("filter", "NodePort")))}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scheduler-config"}, "data": data}
    (found,) = check(json.dumps(config_map), read_text)

    assert found.path == "data[koord-scheduler-config]: profiles[0].plugins.filter.enabled[0]"


def read_text(text: Any) -> Parsed:
    """Read a text."""
    return read_configuration(text, load_registry())


CASES: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    (
        {"plugins": {"filter": {"disabled": [{"name": "TaintToleration"}]}}},
        "predicates",
        {"predicate.TaintTolerationEnable": False},
    ),
    (
        {"plugins": {"multiPoint": {"disabled": [{"name": "InterPodAffinity"}]}}},
        "predicates",
        {"predicate.PodAffinityEnable": False},
    ),
    (
        {"pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 30}}]},
        "predicates",
        {"volumebinding.bindTimeoutSeconds": 30},
    ),
    ({"plugins": {"score": {"disabled": [{"name": "*"}]}}}, "nodeorder", {"tainttoleration.weight": 0}),
    (
        {"plugins": {"score": {"enabled": [{"name": "NodeAffinity", "weight": 7}]}}},
        "nodeorder",
        {"nodeaffinity.weight": 7},
    ),
    ({"plugins": {"score": {"enabled": [{"name": "NodeAffinity"}]}}}, "nodeorder", {"nodeaffinity.weight": 1}),
    (
        {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]},
        "nodeorder",
        {"mostrequested.weight": 1, "leastrequested.weight": 0},
    ),
    (enabled("multiPoint", "LoadAwareScheduling", weight=3), "load-aware", {"weight": 3}),
    (enabled("filter", "LoadAwareScheduling"), "load-aware", {"weight": 0}),
    (
        {
            **enabled("multiPoint", "Coscheduling"),
            "pluginConfig": [
                {"name": "Coscheduling", "args": {"kind": "CoschedulingArgs", "defaultTimeout": "5m"}},
            ],
        },
        "coscheduling",
        {"defaultTimeout": "5m"},
    ),
    (
        {
            **enabled("multiPoint", "ElasticQuota"),
            "pluginConfig": [{"name": "ElasticQuota", "args": {"monitorAllQuotas": True}}],
        },
        "elastic-quota",
        {"monitorAllQuotas": True},
    ),
    (
        {
            **enabled("multiPoint", "NodeNUMAResource"),
            "pluginConfig": [{"name": "NodeNUMAResource", "args": {"defaultCPUBindPolicy": "SpreadByPCPUs"}}],
        },
        "nodenuma",
        {"defaultCPUBindPolicy": "SpreadByPCPUs"},
    ),
    (
        {
            **enabled("score", "NodeResourcesFitPlus", weight=4),
            "pluginConfig": [
                {"name": "NodeResourcesFitPlus", "args": {"resources": {"cpu": {"type": "MostAllocated", "weight": 2}}}}
            ],
        },
        "resource-strategy-fit",
        {"resourceStrategyFitWeight": 4, "resources": {"cpu": {"type": "MostAllocated", "weight": 2}}},
    ),
    (
        {
            **enabled("score", "ScarceResourceAvoidance", weight=2),
            "pluginConfig": [{"name": "ScarceResourceAvoidance", "args": {"resources": ["nvidia.com/gpu"]}}],
        },
        "resource-strategy-fit",
        {"sra": {"enable": True, "resources": "nvidia.com/gpu", "weight": 2}, "resourceStrategyFitWeight": 0},
    ),
    (enabled("score", "binpack"), "binpack", {}),
]


@pytest.mark.parametrize(("parts", "instance", "expected"), CASES)
def test_plugins_and_arguments_have_their_counterparts(
    parts: dict[str, Any], instance: str, expected: dict[str, Any]
) -> None:
    """In the arguments of a plugin of ours."""
    found = arguments(profile(**parts), instance)

    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("parts", "actions"),
    [
        ({"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}, "enqueue, allocate, backfill"),
        ({"plugins": {"multiPoint": {"disabled": [{"name": "*"}]}}}, "enqueue, allocate, backfill"),
        (
            {
                **enabled("multiPoint", "Coscheduling"),
                "pluginConfig": [{"name": "Coscheduling", "args": {"enablePreemption": True}}],
            },
            "enqueue, allocate, preempt, gangpreempt, backfill",
        ),
        (
            {
                **enabled("multiPoint", "ElasticQuota"),
                "pluginConfig": [{"name": "ElasticQuota", "args": {"monitorAllQuotas": True}}],
            },
            "enqueue, allocate, preempt, backfill, shuffle",
        ),
    ],
)
def test_preemption_and_the_monitor_of_quotas_are_actions(parts: dict[str, Any], actions: str) -> None:
    """Only where the file enables them, and without a warning about the argument that enables them."""
    parsed = read(file_of(**parts))

    assert ", ".join(parsed.configuration.profiles[0].actions) == actions
    assert not [each for each in parsed.warnings if "enablePreemption" in each]


def test_coscheduling_as_queue_sort_comes_before_priority() -> None:
    """So that members of a gang stay together."""
    sort = {"disabled": [{"name": "*"}], "enabled": [{"name": "Coscheduling"}]}

    assert names(profile(plugins={"queueSort": sort}))[0] == ["coscheduling", "priority", "gang"]


@pytest.mark.parametrize(
    ("parts", "warning"),
    [
        (enabled("filter", "NodePort"), "plugins.filter.enabled[0]: unknown plugin 'NodePort', it is skipped"),
        (
            {"plugins": {"filter": {"disabled": [{"name": "NodePort"}]}}},
            "plugins.filter.disabled: no effect: 'NodePort' is not enabled (did you mean 'NodePorts'?)",
        ),
        (
            {"plugins": {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}},
            "plugins.filter: NodeResourcesFit cannot be disabled, it filters nodes",
        ),
        (
            {"plugins": {"preFilter": {"disabled": [{"name": "NodeAffinity"}]}}},
            "plugins.preFilter.disabled: no effect: a plugin serves this point with its filters and scores",
        ),
        ({"plugins": {"filters": {}}}, "plugins.filters: unknown key, it has no effect"),
        (
            enabled("filter", "DeviceShare"),
            "plugins.filter.enabled[0]: plugin 'DeviceShare' also serves preFilter, reserve here, where this file does",
        ),
        ({"percentageOfNodesToScore": 5}, "percentageOfNodesToScore: no effect: all nodes are filtered and scored"),
        (
            {"pluginConfig": [{"name": "Coscheduling", "args": {"defaultTimeout": "5m"}}]},
            "pluginConfig[0].args: no effect: plugin 'Coscheduling' is not enabled",
        ),
        (
            {"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": {}}}]},
            "pluginConfig[0].args.addedAffinity: no effect: only the affinity of the pod applies",
        ),
        (
            {"pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeout": 1}}]},
            "pluginConfig[0].args.bindTimeout: unknown key, it has no effect (did you mean 'bindTimeoutSeconds'?)",
        ),
        (
            {
                **enabled("multiPoint", "Coscheduling"),
                "pluginConfig": [{"name": "Coscheduling", "args": {"defaultTimeouts": "5m", "controllerWorkers": 2}}],
            },
            "pluginConfig[0].args.defaultTimeouts: unknown",
        ),
        (
            {
                "pluginConfig": [
                    {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "RequestedToCapacityRatio"}}}
                ]
            },
            "pluginConfig[0].args.scoringStrategy.type: no effect: got 'RequestedToCapacityRatio', expected",
        ),
        (
            {"pluginConfig": [{"name": "TaintToleration", "args": {"x": 1}}]},
            "pluginConfig[0].args: no effect: plugin 'TaintToleration' has no arguments here",
        ),
        (
            {**enabled("filter", "Mine"), "pluginConfig": [{"name": "Mine", "args": {"x": 1}}]},
            "pluginConfig[0].args: no effect: plugin 'Mine' has no arguments here",
        ),
        (
            {"plugins": {"bind": {"disabled": [{"name": "*"}]}}},
            "plugins.bind: DefaultBinder cannot be disabled, it binds pods",
        ),
        (
            {
                **enabled("filter", "Reservation"),
                "pluginConfig": [{"name": "Reservation", "args": {"enablePreemption": True}}],
            },
            "pluginConfig[0].args.enablePreemption: no effect: plugin 'Reservation' is not enabled at postFilter",
        ),
        (
            {
                **enabled("permit", "Coscheduling"),
                "pluginConfig": [{"name": "Coscheduling", "args": {"enablePreemption": True}}],
            },
            "pluginConfig[0].args.enablePreemption: no effect: plugin 'Coscheduling' is not enabled at postFilter",
        ),
        (enabled("score", "binpack", weight=5), "the weight of plugin 'binpack' is one of its arguments, if any"),
    ],
)
def test_what_has_no_counterpart_is_named_at_its_path(parts: dict[str, Any], warning: str) -> None:
    """Nothing is dropped silently."""
    warnings = read(file_of(**parts)).warnings

    assert any(warning in each for each in warnings), warnings


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (
            {"apiVersion": "kubescheduler.config.k8s.io/v1beta1", "kind": "KubeSchedulerConfiguration"},
            "kind: got 'KubeSchedulerConfiguration' of 'kubescheduler.config.k8s.io/v1beta1'",
        ),
        (file_of(plugins=[]), "profiles[0].plugins: got [], expected a mapping"),
        (file_of(**enabled("score", "binpack", weight=-1)), "enabled[0].weight: got -1"),
        (file_of(plugins={"score": {"enabled": [{"weight": 1}]}}), "enabled[0].name: missing"),
        (file_of(plugins={"score": {"enabled": [{"name": "a"}, {"name": "a"}]}}), "enabled[1]: 'a' is enabled twice"),
        (
            file_of(pluginConfig=[{"name": "NodeAffinity"}, {"name": "NodeAffinity"}]),
            "pluginConfig[1]: 'NodeAffinity' is already configured at profiles[0].pluginConfig[0].args",
        ),
        (file_of(schedulerName=7), "profiles[0].schedulerName: got 7, expected a name"),
        (
            file_of(
                **enabled("multiPoint", "NodeNUMAResource"),
                pluginConfig=[{"name": "NodeNUMAResource", "args": {"defaultCPUBindPolicy": "None"}}],
            ),
            "profiles[0].pluginConfig[0].args.defaultCPUBindPolicy: got 'None'",
        ),
    ],
)
def test_a_fault_has_the_path_of_the_file(document: dict[str, Any], fault: str) -> None:
    """All faults of the file are reported together."""
    with pytest.raises(ConfigError) as caught:
        read(document)

    assert fault in "; ".join(caught.value.faults)


def test_each_extension_point_of_a_profile_is_read() -> None:
    """Several profiles have their own plugins."""
    document = file_of(schedulerName="a", **enabled("multiPoint", "Reservation"))
    document["profiles"].append({"schedulerName": "b"})
    first, second = read(document).configuration.profiles

    assert (first.scheduler_names, second.scheduler_names) == (("a",), ("b",))
    assert "reservation" in names(first)[1]
    assert "reservation" not in names(second)[1]


ODD: list[Any] = [None, True, -1, "", "x", [7], {"name": None}, {7: 8}]


@pytest.mark.parametrize("value", ODD)
def test_any_value_at_any_place_is_a_configuration_or_has_faults(value: Any) -> None:
    """No other exception is raised."""
    registry = load_registry()
    for path in list(places(SHIPPED))[1:]:
        with suppress(ConfigError):
            assert read(changed(SHIPPED, path, value), registry).configuration.profiles
