"""Gauges of virtual cards follow the pods and the nodes that are there."""

from typing import Any

from pyroclast.plugins.deviceshare import DeviceShareArgs
from pyroclast.scheduler.monitoring.device_metrics import DeviceFigures
from pyroclast.scheduler.monitoring.metrics import Metrics
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from tests.unit.plugins.cards import IDS, container, one, wanting, with_cards

ARGS = DeviceShareArgs(vgpu=True)
BASE = with_cards(Scenario(), "n", 1000, 2000)
TWO = wanting(container("a", number=1, memory=300, cores=20), container("b", number=1, memory=200))
HELD = BASE.running("r", on=["n"], pod=TWO, annotations={IDS: "GPU-0,NVIDIA,300,20:;GPU-0,NVIDIA,200,0:"})


def told(metrics: Metrics) -> dict[str, Any]:
    """All series of virtual cards that have a value."""
    lines = [line for line in metrics.text().decode().splitlines() if line.startswith("volcano_vgpu_device_")]
    return {
        line.rpartition(" ")[0].removeprefix("volcano_vgpu_device_"): float(line.rpartition(" ")[2]) for line in lines
    }


def snapshot(scenario: Scenario) -> Any:
    """The cluster of a scenario."""
    return cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[]).snapshot()


def test_cards_and_the_pods_on_them() -> None:
    """Two containers of one pod are one that shares; what it holds adds up."""
    metrics = Metrics()
    DeviceFigures(metrics).update(snapshot(HELD), ARGS)

    card, other = 'NodeName="n",devID="GPU-0"', 'NodeName="n",devID="GPU-1"'
    assert told(metrics) == {
        f"memory_limit{{{card}}}": 1000,
        f"memory_limit{{{other}}}": 2000,
        f"shared_number{{{card}}}": 1,
        f"shared_number{{{other}}}": 0,
        f"allocated_memory{{{card}}}": 500,
        f"allocated_memory{{{other}}}": 0,
        f"allocated_cores{{{card}}}": 20,
        f"allocated_cores{{{other}}}": 0,
        f'memory_allocation_for_a_certain_pod{{{card},podName="r-0"}}': 500,
        f'core_allocation_for_a_certain_pod{{{card},podName="r-0"}}': 20,
    }


def test_pods_that_are_called_alike_are_two_that_share() -> None:
    """Names tell pods of one namespace apart, no more; their series is the sum."""
    metrics = Metrics()
    other = HELD.running(
        "r", on=["n"], namespace="o", pod=one(number=1, memory=100, cores=5), annotations={IDS: "GPU-0,NVIDIA,100,5:"}
    )
    DeviceFigures(metrics).update(snapshot(other), ARGS)

    card, figures = 'NodeName="n",devID="GPU-0"', told(metrics)
    assert figures[f"shared_number{{{card}}}"] == 2
    assert figures[f"allocated_memory{{{card}}}"] == 600
    assert figures[f"allocated_cores{{{card}}}"] == 25
    assert figures[f'memory_allocation_for_a_certain_pod{{{card},podName="r-0"}}'] == 600


def test_deleted_objects_are_not_reported() -> None:
    """The pod first, then the node; and all of it when the configuration has no cards any more."""
    metrics = Metrics()
    figures = DeviceFigures(metrics)
    figures.update(snapshot(HELD), ARGS)
    figures.update(snapshot(BASE), ARGS)
    assert not [series for series in told(metrics) if "certain_pod" in series]
    assert told(metrics)['shared_number{NodeName="n",devID="GPU-0"}'] == 0

    figures.update(snapshot(Scenario().node("m")), ARGS)
    assert told(metrics) == {}
    figures.update(snapshot(HELD), ARGS)
    assert len(told(metrics)) == 10
    figures.update(snapshot(HELD), None)
    assert told(metrics) == {}
    figures.update(snapshot(HELD), DeviceShareArgs(gpu_sharing=True))
    assert told(metrics) == {}


def test_metrics_of_an_unchanged_node_are_not_written_again() -> None:
    """What stands in the metrics is not touched."""
    metrics, seen = Metrics(), snapshot(HELD)
    figures = DeviceFigures(metrics)
    figures.update(seen, ARGS)
    metrics.put("volcano_vgpu_device_memory_limit", -1, "GPU-0", "n")
    figures.update(seen, ARGS)

    assert metrics.value("volcano_vgpu_device_memory_limit", "GPU-0", "n") == -1
