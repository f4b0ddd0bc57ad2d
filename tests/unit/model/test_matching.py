"""Matching by Kubernetes' rules: selectors, nodes, taints, pod terms."""

import pytest

from pyroclast.model import wire
from pyroclast.model.ids import NodeName
from pyroclast.model.matching.nodes import node_selector_columns, node_selector_mask, requirement_mask, selector_mask
from pyroclast.model.matching.pods import PodMatcher, pod_terms, spread_constraints, terms_depend_on_labels
from pyroclast.model.matching.selectors import EVERYTHING, NOTHING, Requirement, Selector
from pyroclast.model.matching.taints import PREFER_NO_SCHEDULE, tolerates, untolerated
from pyroclast.model.nodes import Node, NodeFacts


def node(name: str, taints: tuple[wire.Taint, ...] = (), **labels: str) -> Node:
    """Return a node of which labels and taints matter alone."""
    return Node(
        name=NodeName(name),
        labels=labels,
        annotations={},
        taints=taints,
        unschedulable=False,
        allocatable={},
        oversubscribed={},
        images={},
        revocable_zone="",
    )


FACTS = NodeFacts(nodes=(node("n1", zone="a"), node("n2", zone="b"), node("n3")))


@pytest.mark.parametrize(
    ("requirement", "matching"),
    [
        (Requirement("k", "In", frozenset({"a", "b"})), ["a", "b"]),
        (Requirement("k", "NotIn", frozenset({"a"})), ["b", "c", None]),
        (Requirement("k", "Exists"), ["a", "b", "c"]),
        (Requirement("k", "DoesNotExist"), [None]),
        (Requirement("k", "Gt", frozenset({"0"})), []),
    ],
)
def test_operators_of_label_selectors(requirement: Requirement, matching: list[str | None]) -> None:
    """An absent label satisfies NotIn and DoesNotExist; operators of node selectors match no pod."""
    labels = {value: {} if value is None else {"k": value} for value in ("a", "b", "c", None)}

    assert [value for value, each in labels.items() if requirement.matches(each)] == matching


def test_absent_selector_selects_nothing_and_an_empty_one_everything() -> None:
    """The two are distinguished, for pods and for nodes."""
    assert Selector.of(None) is NOTHING
    assert Selector.of(wire.LabelSelector()) == EVERYTHING
    assert not NOTHING.matches({})
    assert EVERYTHING.matches({})
    assert selector_mask(FACTS, NOTHING).tolist() == [False, False, False]
    assert selector_mask(FACTS, EVERYTHING).tolist() == [True, True, True]


def test_equal_selectors_are_equal_however_they_are_written() -> None:
    """Pairs and expressions say the same, in any order."""
    expressions = (
        wire.SelectorRequirement(key="b", operator="Exists"),
        wire.SelectorRequirement(key="a", operator="In", values=("1",)),
    )
    written = wire.LabelSelector(match_expressions=expressions)
    paired = wire.LabelSelector(match_labels={"a": "1"}, match_expressions=expressions[:1])

    assert Selector.of(written) == Selector.of(paired)
    assert hash(Selector.of(written)) == hash(Selector.of(paired))


def test_anchors_are_the_fewest_pairs_one_of_which_must_be_there() -> None:
    """Equalities give them; a selector without equalities has none."""
    selector = wire.LabelSelector(
        match_labels={"a": "1"},
        match_expressions=(wire.SelectorRequirement(key="b", operator="In", values=("x", "y")),),
    )

    assert Selector.of(selector).anchors() == (("a", "1"),)
    assert EVERYTHING.anchors() is None
    assert NOTHING.anchors() == ()


def test_masks_are_shared_and_cannot_be_written() -> None:
    """The same question gives the same read-only array."""
    first = requirement_mask(FACTS, "zone", "In", ("a", "b"))

    assert requirement_mask(FACTS, "zone", "In", ("b", "a")) is first
    assert first.tolist() == [True, True, False]
    with pytest.raises(ValueError, match="read-only"):
        first[0] = False


def test_columns_of_a_node_selector_are_those_of_its_mask() -> None:
    """Terms are alternatives in both."""
    terms = tuple(
        wire.NodeSelectorTerm(match_expressions=(wire.SelectorRequirement(key="zone", operator="In", values=(zone,)),))
        for zone in ("b", "a", "nowhere")
    )
    selector = wire.NodeSelector(node_selector_terms=terms)

    assert node_selector_columns(FACTS, selector).tolist() == [0, 1]
    assert node_selector_mask(FACTS, selector).tolist() == [True, True, False]


def test_taints_are_counted_by_effect() -> None:
    """Tolerations for an effect bear taints of that effect alone."""
    soft = wire.Taint(key="k", value="v", effect=PREFER_NO_SCHEDULE)
    hard = wire.Taint(key="k", value="v", effect="NoSchedule")
    facts = NodeFacts(nodes=(node("n1", (soft, soft, hard)), node("n2", (soft,)), node("n3")))
    toleration = wire.Toleration(key="k", operator="Exists", effect="NoSchedule")

    assert untolerated(facts, ()).tolist() == [1, 0, 0]
    assert untolerated(facts, (toleration,)).tolist() == [0, 0, 0]
    assert untolerated(facts, (toleration,), frozenset({PREFER_NO_SCHEDULE})).tolist() == [2, 1, 0]
    assert tolerates((toleration,), "k", "v", "NoSchedule")
    assert untolerated(NodeFacts(nodes=()), ()).tolist() == []


def test_terms_name_label_keys_or_not() -> None:
    """Only then may pods of one specification have different terms."""
    plain = wire.PodAffinityTerm(topology_key="zone", label_selector=wire.LabelSelector())
    keyed = wire.PodAffinityTerm(
        topology_key="zone", label_selector=wire.LabelSelector(), mismatch_label_keys=("app", "absent")
    )
    weighted = (wire.WeightedPodAffinityTerm(weight=3, pod_affinity_term=keyed),)
    affinity = wire.Affinity(pod_anti_affinity=wire.PodAffinity(preferred=weighted))
    terms = pod_terms(affinity, "ns", {"app": "web"}, {})
    ((weight, term),) = terms.preferred_anti_affinity

    assert terms_depend_on_labels(affinity)
    assert not terms_depend_on_labels(wire.Affinity(pod_affinity=wire.PodAffinity(required=(plain,))))
    assert (weight, term.topology_key) == (3, "zone")
    assert not term.pods.matches("ns", {"app": "web"})
    assert term.pods.matches("ns", {"app": "db"})
    assert not term.pods.matches("other", {"app": "db"})


def test_constraints_are_chosen_by_what_they_say_of_failure() -> None:
    """Defaults: honour affinity, ignore taints, one domain at least."""
    soft = wire.TopologySpreadConstraint(topology_key="zone", when_unsatisfiable="ScheduleAnyway")
    hard = wire.TopologySpreadConstraint(topology_key="host", max_skew=2)
    (constraint,) = spread_constraints((soft, hard), "ns", {}, "DoNotSchedule")

    assert (constraint.topology_key, constraint.max_skew, constraint.min_domains) == ("host", 2, 1)
    assert (constraint.honours_affinity, constraint.honours_taints) == (True, False)
    assert constraint.pods == PodMatcher(frozenset({"ns"}), NOTHING)
