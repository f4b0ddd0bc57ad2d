"""Arguments of the plugin reservation: Koordinator's names and defaults."""

from typing import Any

import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.model.errors import ConfigError
from pyroclast.plugins.reservation.arguments import PreAllocationConfig, ReservationArgs, SelectorIndex


def read(**given: Any) -> tuple[ReservationArgs, list[str]]:
    """Read arguments as they stand in a file."""
    return decode(ReservationArgs, given, "arguments")


def test_the_defaults_are_koordinators() -> None:
    """Nothing is configured."""
    args, warnings = read()

    assert warnings == []
    assert not args.enable_preemption
    assert (args.candidate_percentage, args.candidate_nodes, args.controller_workers) == (10, 100, 1)
    assert (args.gc_duration_seconds, args.gc_interval_seconds, args.resync_interval_seconds) == (86400, 60, 60)
    assert not args.disable_garbage_collection
    assert args.pre_allocation == PreAllocationConfig(
        cluster_mode=False,
        label="pod.koordinator.sh/is-pre-allocatable",
        priority="pod.koordinator.sh/pre-allocatable-priority",
        prefers_none=False,
    )
    assert args.selector_index == SelectorIndex()
    assert args.ignoring_namespaces is None


def test_all_arguments_are_read() -> None:
    """Each has another value than its default."""
    args, warnings = read(
        enablePreemption=True,
        minCandidateNodesPercentage=20,
        minCandidateNodesAbsolute=5,
        controllerWorkers=2,
        gcDurationSeconds=60,
        gcIntervalSeconds=30,
        resyncIntervalSeconds=30,
        disableGarbageCollection=True,
        preAllocationConfig={
            "enableClusterMode": True,
            "clusterLabelKey": "example.com/label",
            "clusterPriorityAnnotationKey": "example.com/priority",
            "preferNoPreAllocatedPods": True,
        },
        ignoredResources=["example.com/card"],
        ignoredResourceGroups=["example.org"],
        reservationSelectorIndex={"enabled": True, "keyPrefixes": ["a"], "keys": ["b"]},
        ignoringNamespaces=["kube-system"],
    )

    assert args.enable_preemption
    assert args.pre_allocation == PreAllocationConfig(
        cluster_mode=True, label="example.com/label", priority="example.com/priority", prefers_none=True
    )
    assert args.selector_index == SelectorIndex(enabled=True, prefixes=("a",), keys=("b",))
    assert [name for name in ("example.com/card", "example.org/x", "example.com/x") if args.ignores(name)] == [
        "example.com/card",
        "example.org/x",
    ]
    assert args.ignoring_namespaces == ("kube-system",)
    assert warnings == []


@pytest.mark.parametrize(
    "given",
    [
        {"ignoredResources": ["cpu"]},
        {"ignoredResources": ["hugepages-2Mi"]},
        {"ignoredResourceGroups": ["kubernetes.io"]},
        {"ignoredResourceGroups": ["a/b"]},
    ],
)
def test_native_resources_cannot_be_ignored(given: Any) -> None:
    """The configuration is refused, as in Koordinator."""
    with pytest.raises(ConfigError):
        read(**given)
