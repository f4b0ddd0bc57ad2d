"""The annotation of counted amounts has an effect only with the option of the cache for it."""

import pytest

from pyroclast.cache.files.objects import decoded
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.extension import contract
from pyroclast.model.counted import COUNTED
from pyroclast.testing import Scenario
from pyroclast.testing.configuration import configured
from tests.unit.framework.asking import Saying


@pytest.mark.parametrize(("counts", "millis"), [(True, 6000), (False, 2000)])
def test_a_running_pod_counts_as_more_than_its_request_with_the_option_alone(counts: bool, millis: int) -> None:
    """A tenant that writes the annotation blocks no capacity otherwise."""
    scenario = Scenario().node("n", cpu=8).pod("a", cpu=2, node="n", annotations={COUNTED: '{"cpu":"6"}'})
    state = ClusterState(StateOptions(counts_resized_pods=counts))
    for kind, each in decoded(scenario.objects):
        state.apply(kind, each)
    snapshot = state.snapshot()

    assert snapshot.counts_resized_pods is counts
    assert snapshot.nodes.state[snapshot.nodes.rows.used][snapshot.resources.rows["cpu"]].tolist() == [millis]


def test_a_plugin_that_resizes_without_the_option_has_failed() -> None:
    """Pods are placed by their requests, and the failure names the feature gate."""
    scenario = Scenario().queue("default").node("n", cpu=8).job("j", tasks=2, cpu=2)
    state = ClusterState(StateOptions(counts_resized_pods=False))
    for kind, each in decoded(scenario.objects):
        state.apply(kind, each)
    plugin = Saying("test", {contract.RESIZE_POD: lambda _task, _column: {"cpu": 8000}})
    parsed, registry = configured(("enqueue", "allocate"), ("gang", "predicates", plugin), {})
    report, _ = run_cycle(state.snapshot(), parsed.configuration, registry=registry, now=1.8e9)

    assert [len(plan.binds) for plan in report.plans] == [2]
    assert "the feature gate ResizePod is off" in report.failures["test"].message
