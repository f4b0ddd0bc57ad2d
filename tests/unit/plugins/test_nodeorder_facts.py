"""Scores by labels, taints and images: worked numbers of docs/plugins/nodeorder.md."""

from typing import Any

import numpy as np
import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.model import wire
from pyroclast.model.errors import ConfigError
from pyroclast.plugins.nodeorder.facts import normalised, reversed_normalised, tagged
from pyroclast.plugins.nodeorder.plugin import NodeOrderArgs
from tests.unit.plugins.policies import MIB, node, opened, pod
from tests.unit.plugins.test_nodeorder_amounts import world

SLOW = wire.Taint(key="slow", value="yes", effect="PreferNoSchedule")
OLD = wire.Taint(key="old", effect="PreferNoSchedule")


def prefers(*weights_by_label: tuple[int, str]) -> dict[str, Any]:
    """A specification that prefers nodes with labels."""
    preferred = tuple(
        wire.PreferredSchedulingTerm(
            weight=weight,
            preference=wire.NodeSelectorTerm(match_expressions=(wire.SelectorRequirement(key=key, operator="Exists"),)),
        )
        for weight, key in weights_by_label
    )
    return {"affinity": wire.Affinity(node_affinity=wire.NodeAffinity(preferred=preferred))}


def container(image: str) -> wire.Container:
    """A container with an image."""
    return wire.Container(name=image, image=image)


def test_taints_to_be_avoided_cost() -> None:
    """None, one and two of them: 100, 50 and 0, times the weight 3."""
    nodes = node("n1"), node("n2", taints=[SLOW]), node("n3", taints=[SLOW, OLD])

    assert world("tainttoleration", *nodes, pod("p"), value=3).scores("p") == {"n1": 300, "n2": 150, "n3": 0}


def test_without_taints_all_nodes_score_full() -> None:
    """Nothing to avoid anywhere."""
    assert world("tainttoleration", node("n1"), node("n2"), pod("p")).scores("p") == {"n1": 100, "n2": 100}


@pytest.mark.parametrize(
    ("toleration", "scores"),
    [
        (wire.Toleration(key="slow", operator="Exists"), {"n1": 100, "n2": 100}),
        (wire.Toleration(key="slow", value="yes", effect="PreferNoSchedule"), {"n1": 100, "n2": 100}),
        (wire.Toleration(key="slow", operator="Exists", effect="NoSchedule"), {"n1": 100, "n2": 0}),
    ],
)
def test_tolerated_taints_cost_nothing(toleration: wire.Toleration, scores: dict[str, float]) -> None:
    """A toleration of any effect or of this one bears them, one of another effect does not."""
    nodes = node("n1"), node("n2", taints=[SLOW])

    assert world("tainttoleration", *nodes, pod("p", spec={"tolerations": (toleration,)})).scores("p") == scores


def test_preferred_nodes_score_by_weight() -> None:
    """Weights of 0, 30 and 100 that match: 0, 30 and 100, times the weight 2."""
    nodes = node("n1"), node("n2", labels={"ssd": ""}), node("n3", labels={"ssd": "", "fast": ""})
    wanting = pod("p", spec=prefers((30, "ssd"), (70, "fast")))

    assert world("nodeaffinity", *nodes, wanting, value=2).scores("p") == {"n1": 0, "n2": 60, "n3": 200}


def test_preferred_weights_are_scaled_to_the_best_candidate() -> None:
    """Without n3 among the candidates, n2 is the best."""
    nodes = node("n1"), node("n2", labels={"ssd": ""}), node("n3", labels={"ssd": "", "fast": ""})
    there = world("nodeaffinity", *nodes, pod("p", spec=prefers((30, "ssd"), (70, "fast"))))

    assert there.scores("p", among=["n1", "n2"]) == {"n1": 0, "n2": 100}


def test_an_empty_preferred_term_matches_no_node() -> None:
    """It has no expressions."""
    empty = wire.Affinity(node_affinity=wire.NodeAffinity(preferred=(wire.PreferredSchedulingTerm(weight=5),)))

    assert world("nodeaffinity", node("n"), pod("p", spec={"affinity": empty})).scores("p") == {"n": 0}


@pytest.mark.parametrize(
    ("raw", "scores"), [([0, 30, 100], [0, 30, 100]), ([1, 3], [33, 100]), ([0, 0], [0, 0]), ([], [])]
)
def test_scaling_truncates(raw: list[float], scores: list[float]) -> None:
    """To whole numbers, the highest becomes 100."""
    assert normalised(np.array(raw, dtype=np.float64)).tolist() == scores


@pytest.mark.parametrize(
    ("raw", "scores"), [([0, 1, 2], [100, 50, 0]), ([1, 3], [67, 0]), ([0, 0], [100, 100]), ([], [])]
)
def test_reversed_scaling_truncates_before_it_subtracts(raw: list[float], scores: list[float]) -> None:
    """A third of 100 is 33, so 67 is left."""
    assert reversed_normalised(np.array(raw, dtype=np.float64)).tolist() == scores


@pytest.mark.parametrize(
    ("size", "on", "score"),
    [
        (500 * MIB, ("n1",), 23),
        (500 * MIB, ("n1", "n2"), 48),
        (40 * MIB, ("n1",), 0),
    ],
)
def test_an_image_counts_by_size_and_spread(size: int, on: tuple[str, ...], score: int) -> None:
    """Its bytes times the part of the nodes that have it, between 23 and 1000 MiB."""
    nodes = [node(name, images={"app:1": size} if name in on else {}) for name in ("n1", "n2")]

    assert world("imagelocality", *nodes, pod("p", containers=[container("app:1")])).scores("p")["n1"] == score


def test_an_image_is_capped_at_a_thousand_mebibytes() -> None:
    """2000 MiB on a single node score 100."""
    there = node("n", images={"app:1": 2000 * MIB})

    assert world("imagelocality", there, pod("p", containers=[container("app:1")])).scores("p") == {"n": 100}


def test_the_cap_grows_with_the_number_of_containers() -> None:
    """Two containers, one image of 500 MiB everywhere: 100 * 477 / 1977."""
    nodes = [node(name, images={"app:1": 500 * MIB}) for name in ("n1", "n2")]
    two = pod("p", containers=[container("app:1"), container("other:1")])

    assert world("imagelocality", *nodes, two).scores("p") == {"n1": 24, "n2": 24}


def test_init_containers_count_as_containers() -> None:
    """Their images and their number."""
    nodes = [node(name, images={"init:1": 500 * MIB}) for name in ("n1", "n2")]
    starting = pod("p", containers=[container("app:1")], spec={"init_containers": (container("init:1"),)})

    assert world("imagelocality", *nodes, starting).scores("p") == {"n1": 24, "n2": 24}


def test_images_of_volumes_count_and_raise_no_cap() -> None:
    """500 MiB for the container and as much for the volume are the 1000 MiB of one container; without it 48."""
    nodes = [node(name, images={"app:1": 500 * MIB, "data:latest": 500 * MIB}) for name in ("n1", "n2")]
    volumes = wire.Volume(name="data", image=wire.ImageVolume(reference="data")), wire.Volume(name="other")
    containers = [container("app:1")]
    there = world(
        "imagelocality",
        *nodes,
        pod("p", containers=containers, spec={"volumes": volumes}),
        pod("plain", containers=containers),
    )

    assert there.scores("p") == {"n1": 100, "n2": 100}
    assert there.scores("plain") == {"n1": 48, "n2": 48}


def test_images_that_no_node_has_score_nothing() -> None:
    """Neither does a pod whose images are unknown."""
    assert world("imagelocality", node("n"), pod("p", containers=[container("app:1")])).scores("p") == {"n": 0}


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("app", "app:latest"),
        ("app:1", "app:1"),
        ("host:5000/app", "host:5000/app:latest"),
        ("host:5000/app:1", "host:5000/app:1"),
        ("app@sha256:abc", "app@sha256:abc"),
    ],
)
def test_an_image_without_a_tag_is_the_latest(written: str, name: str) -> None:
    """The port of a registry is no tag."""
    assert tagged(written) == name


def test_a_negative_weight_turns_a_score_round() -> None:
    """Nodes with taints to be avoided are preferred."""
    nodes = node("n1"), node("n2", taints=[SLOW])

    assert world("tainttoleration", *nodes, pod("p"), value=-1).scores("p") == {"n1": -100, "n2": 0}


def test_default_weights() -> None:
    """Equal empty nodes: least 1, balance 1, taints 3, the others nothing."""
    there = opened(node("n", cpu="4", memory="8Gi"), pod("p", memory="2Gi"), plugins=["nodeorder"])

    assert there.scores("p") == {"n": 75 + 75 + 300}


def test_a_weight_that_is_no_whole_number_warns() -> None:
    """And the default is kept."""
    args, warnings = decode(NodeOrderArgs, {"tainttoleration.weight": 1.5}, "arguments")

    assert args.taint_toleration == 3
    assert warnings == [
        "arguments.tainttoleration.weight: got 1.5, expected a whole number; the default 3 is kept",
    ]


@pytest.mark.parametrize("written", ["1.35", 1.35])
def test_a_formula_is_named_with_or_without_quotes(written: object) -> None:
    """YAML reads it as a number without."""
    assert decode(NodeOrderArgs, {"balancedresource.formula": written}, "arguments")[0].balanced_formula == "1.35"


def test_an_unknown_formula_is_refused() -> None:
    """There are two."""
    with pytest.raises(ConfigError) as caught:
        decode(NodeOrderArgs, {"balancedresource.formula": 1.3}, "arguments")

    assert caught.value.faults == ("arguments.balancedresource.formula: got '1.3', expected 1.36 or 1.35",)
