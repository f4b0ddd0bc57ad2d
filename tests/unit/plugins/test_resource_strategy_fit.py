"""Resource strategy fit: the worked numbers of docs/plugins/resource-strategy-fit.md."""

from typing import Any

import numpy as np
import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.framework.extension import contract
from pyroclast.model import wire
from pyroclast.model.errors import ConfigError
from pyroclast.plugins.resource_strategy_fit import FitArgs, lookup
from tests.unit.plugins.policies import World, node, opened, pod

LEAST, MOST = "LeastAllocated", "MostAllocated"
TYPE, WEIGHTS = "volcano.sh/resource-strategy-scoring-type", "volcano.sh/resource-strategy-weight"


def world(*objects: Any, **arguments: Any) -> World:
    """A session with the plugin alone."""
    return opened(*objects, plugins=[{"name": "resource-strategy-fit", "arguments": arguments}])


def both(cpu: tuple[str, int], memory: tuple[str, int]) -> dict[str, Any]:
    """How CPU and memory count."""
    return {name: {"type": kind, "weight": weight} for name, (kind, weight) in (("cpu", cpu), ("memory", memory))}


def score(resources: dict[str, Any], cpu: str = "500m", memory: str = "500", **of_pod: Any) -> float:
    """The score of a node of which 200 of CPU and memory are used, for a pod of 100 of each."""
    asked = pod("p", **{"cpu": "100m", "memory": "100", **of_pod})
    used = pod("r", on="n", cpu="200m" if cpu != "0" else "", memory="200")
    there = world(node("n", cpu=cpu, memory=memory), used, asked, resources=resources)
    return there.scores("p")["n"]


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        (both((LEAST, 1), (LEAST, 1)), 400),
        (both((MOST, 1), (MOST, 1)), 600),
        (both((LEAST, 2), (MOST, 1)), 466.667),
        ({}, 400),
        (both(("Neither", 0), (LEAST, -3)), 400),
    ],
)
def test_the_worked_fits(resources: dict[str, Any], expected: float) -> None:
    """Weight 10; no type is LeastAllocated, no weight is 1."""
    assert score(resources) == pytest.approx(expected, abs=1e-3)


def test_fits_on_smaller_nodes() -> None:
    """400 of each; and a node without CPU, whose weight counts all the same."""
    assert score(both((LEAST, 1), (LEAST, 1)), "400m", "400") == 250
    assert score(both((MOST, 1), (MOST, 1)), "400m", "400") == 750
    assert score(both((LEAST, 1), (MOST, 2)), "0", "400") == pytest.approx(500)


def test_nothing_asked_and_nothing_left_score_0() -> None:
    """A pod that asks for nothing that counts, and a node that it would overfill."""
    assert score({}, cpu="", memory="") == 0
    assert score({}, memory="299") == 0
    assert score(both((LEAST, 1), (LEAST, 1)), "250m") == 0


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({TYPE: MOST, WEIGHTS: '{"cpu":1,"memory":2}'}, 600),
        ({TYPE: MOST, WEIGHTS: "{"}, 0),
        ({TYPE: MOST}, 0),
        ({WEIGHTS: '{"cpu":1}'}, 400),
        ({TYPE: "", WEIGHTS: '{"cpu":1}'}, 400),
        ({TYPE: "Neither", WEIGHTS: '{"cpu":1}'}, 0),
    ],
)
def test_a_pod_may_say_how_its_nodes_score(annotations: dict[str, str], expected: float) -> None:
    """With a type and readable weights; a type alone scores 0, weights alone have no effect."""
    assert score({}, annotations=annotations) == pytest.approx(expected)


def test_pods_that_differ_in_their_annotation_alone_are_scored_apart() -> None:
    """They ask the same of a node, and are no tasks of one template."""
    there = world(node("n"), pod("p"), pod("q", annotations={TYPE: MOST, WEIGHTS: '{"cpu":1}'}))

    assert there.task("p").template is not there.task("q").template
    assert there.scores("p") != there.scores("q")


def test_nodes_with_scarce_resources_are_left_to_those_who_need_them() -> None:
    """Weight 5, t4 weighs 2 and a10 weighs 3; a pod that asks for t4 goes by what is there."""
    nodes = node("none"), node("t4", t4="1"), node("a10", a10="1"), node("two", t4="1", a10="1")
    scarce = {
        "enable": True,
        "resources": "example.com/t4, example.com/a10",
        "weight": 5,
        "resourceWeight": {"example.com/t4": 2, "example.com/a10": 3},
    }
    there = world(*nodes, pod("p", memory=""), pod("q", t4="1"), resourceStrategyFitWeight=0, sra=scarce)

    assert there.scores("p") == pytest.approx({"none": 500, "t4": 300, "a10": 200, "two": 0})
    assert there.scores("q")["none"] == 0


def test_fit_by_device() -> None:
    """Weight 8, t4 MostAllocated 3, CPU LeastAllocated 1; 1.5 CPU and 2 t4."""
    counted = {"cpu": {"type": LEAST, "weight": 1}, "example.com/t4": {"type": MOST, "weight": 3}}
    nodes = node("with", cpu="8", t4="16"), node("without", cpu="8")
    there = world(*nodes, pod("p", cpu="1500m", t4="2"), resourceStrategyFitWeight=8, resources=counted)

    assert there.scores("p") == pytest.approx({"with": 237.5, "without": 162.5})


def refused(idle: str, gpu: str, of_pod: wire.Pod) -> list[str]:
    """The reasons for which a node with so much idle refuses a pod, 4 CPU and 4G kept for each GPU."""
    kept = {
        "enable": True,
        "resources": "nvidia.com/gpu",
        "resourceProportion": {"nvidia.com/gpu.cpu": 4, "nvidia.com/gpu.memory": 4},
    }
    there = world(node("n", cpu=idle, memory=f"{idle}G", gpu=gpu), of_pod, proportional=kept)
    each = there.function(contract.PREDICATE)
    answer = each.function(there.task("p"), there.session.nodes.columns())
    return [] if answer is None else [each.reasons[answer[at] - 1].text for at in np.flatnonzero(answer)]


def test_room_beside_idle_devices_is_kept() -> None:
    """26 of 24 left; 20 are too few; pods with a GPU may; 16 of 8 left."""
    assert refused("30", "6", pod("p", cpu="4", memory="4G")) == []
    assert refused("30", "6", pod("p", cpu="10", memory="10G")) == [
        "proportional of resource nvidia.com/gpu check failed"
    ]
    assert refused("30", "6", pod("p", cpu="10", memory="10G", gpu="1")) == []
    assert refused("26", "2", pod("p", cpu="10", memory="10G")) == []


def test_a_node_that_names_a_device_without_having_one_must_have_room() -> None:
    """Nothing is kept beside it, but evicting there does not help; pods that do not request it are judged by others."""
    kept = {"enable": True, "resources": "nvidia.com/gpu"}
    nodes = node("broken", cpu="2", gpu="0"), node("other", cpu="2"), node("roomy", cpu="4", gpu="0")
    there = world(*nodes, node("gpu", gpu="1"), pod("p", cpu="3"), proportional=kept)
    each = there.function(contract.PREDICATE, part=1)
    answer = each.function(there.task("p"), there.session.nodes.columns())

    assert [str(there.session.nodes.table.names[at]) for at in np.flatnonzero(answer)] == ["broken"]


def test_names_match_whole_or_by_the_longest_prefix() -> None:
    """A bare, an inner and a double asterisk match nothing."""
    known = {"nvidia.com/*": 1, "nvidia.com/gpu": 2, "nvidia.com/mig-*": 3, "*": 4, "a*b": 5, "a**": 6}

    found = [lookup(known, name) for name in ("nvidia.com/gpu", "nvidia.com/mig-1", "nvidia.com/x", "cpu", "aab")]
    assert found == [2, 3, 1, None, None]


def test_a_wrong_type_refuses_the_configuration() -> None:
    """Volcano exits there."""
    with pytest.raises(ConfigError):
        decode(FitArgs, {"resources": [1]}, "arguments")


def test_a_negative_weight_keeps_the_default() -> None:
    """And 0 registers nothing."""
    assert decode(FitArgs, {"resourceStrategyFitWeight": -1}, "arguments")[0].weight == 10
    assert world(node("n"), resourceStrategyFitWeight=0).session.extensions.functions(contract.NODE_ORDER) == ()


def test_corrected_values_are_reported() -> None:
    """Unknown strategies, weights below 1, patterns that match nothing, weights of resources that are not listed."""
    raw = {
        "resources": {"cpu": {"type": "Most", "weight": 1}, "a*b": {}, "x.com/*": {"weight": 0}, "memory": {}},
        "sra": {"enable": True, "resources": "t4, a10", "resourceWeight": {"t4": -1, "v100": 1}},
        "proportional": {"resources": "t4", "resourceProportion": {"t4.cpu": -0.5, "t5.cpu": 1}},
    }
    _, warnings = decode(FitArgs, raw, "arguments")

    assert warnings == [
        "arguments.resources.cpu.type: got 'Most', expected LeastAllocated or MostAllocated; LeastAllocated is used",
        "arguments.resources.a*b: matches nothing; expected a name, or a prefix such as nvidia.com/*",
        "arguments.resources.x.com/*.weight: got 0, expected at least 1; 1 is used",
        "arguments.sra.weight: got 0, so sra has no effect; expected at least 1",
        "arguments.sra.resourceWeight.t4: got -1, expected at least 0; 1 is used",
        "arguments.sra.resourceWeight.v100: has no effect, sra.resources does not list it",
        "arguments.proportional.resourceProportion.t4.cpu: got -0.5, expected at least 0; 1 is used",
        "arguments.proportional.resourceProportion.t5.cpu: has no effect; expected .cpu or .memory of a listed name",
    ]
