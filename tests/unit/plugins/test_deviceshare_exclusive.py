"""Pods that share no card with their like: by rules, and by group."""

from pyroclast.plugins.deviceshare.arguments import rules_of
from pyroclast.testing import Scenario
from tests.unit.plugins.cards import IDS, cards_of, device_map, one, run, with_cards

RULES = [{"app": "training"}, {"app": "batch"}, {"app": "both", "x": 1}, {}]
WANT = one(number=1, memory=100)
SPREAD = {"volcano.sh/vgpu-podgroup-policy": "spread"}


def holders(cards: int = 2) -> Scenario:
    """Card 0 is a training pod's, card 1 a batch pod's; further ones are free."""
    there = with_cards(Scenario(), "n", *[1000] * cards)
    there = there.running("a", on=["n"], pod=WANT, labels={"app": "training"}, annotations={IDS: "GPU-0,NVIDIA,100,0:"})
    return there.running("b", on=["n"], pod=WANT, labels={"app": "batch"}, annotations={IDS: "GPU-1,NVIDIA,100,0:"})


def placed(scenario: Scenario, rules: object = RULES) -> dict[str, list[str]]:
    """Cards by pod, with rules."""
    return cards_of(run(scenario, VGPUEnable=True, GPUExclusiveRules=rules))


def test_a_card_of_its_like_is_hidden() -> None:
    """The other one is shared with who matches another rule."""
    assert placed(holders().job("p", pod=WANT, labels={"app": "training"})) == {"p-0": ["GPU-1"]}
    assert placed(holders().job("p", pod=WANT, labels={"app": "batch"})) == {"p-0": ["GPU-0"]}


def test_pods_that_match_both_rules_share_with_neither() -> None:
    """And says what of its node is not enough."""
    rules = [{"app": "training"}, {"app": "batch"}, {"team": "t"}]
    both = holders()
    both = both.running("c", on=["n"], pod=WANT, labels={"team": "t"}, annotations={IDS: "GPU-1,NVIDIA,100,0:"})
    outcome = run(
        both.job("p", pod=WANT, labels={"app": "training", "team": "t"}), VGPUEnable=True, GPUExclusiveRules=rules
    )

    assert outcome.bindings == {}
    assert "1 not enough gpu fitted on this node." in outcome.why_pod("p-0")


def test_pods_without_a_rule_share_with_all() -> None:
    """Labels of other values are none of its own."""
    assert placed(holders(1).job("p", pod=WANT, labels={"app": "web"})) == {"p-0": ["GPU-0"]}


def test_pods_of_one_session_are_kept_apart() -> None:
    """Two cards, three of a kind: the third waits."""
    there = with_cards(Scenario(), "n", 1000, 1000).job(
        "p", tasks=3, min_available=1, pod=WANT, labels={"app": "batch"}
    )

    assert placed(there) == {"p-0": ["GPU-1"], "p-1": ["GPU-0"]}


def test_rules_are_no_matter_where_cards_are_cut() -> None:
    """Instances are apart by themselves."""
    there = with_cards(Scenario().add(device_map()), "n", 40960, mode="mig")
    there = there.job("p", tasks=2, pod=WANT, labels={"app": "batch"})

    assert placed(there) == {"p-0": ["GPU-0[group1-0]"], "p-1": ["GPU-0[group1-1]"]}


def test_labels_that_are_no_texts_are_no_part_of_a_rule() -> None:
    """What is left of the rule holds; a rule of which nothing is left is none, nor is what is no mapping."""
    rules = [{1: "a", "app": "training", "x": 2}, {"app": 1}, "app"]

    assert rules_of(rules) == ({"app": "training"},)
    assert placed(holders().job("p", pod=WANT, labels={"app": "training"}), rules) == {"p-0": ["GPU-1"]}


def test_rules_that_are_not_a_list_are_reported() -> None:
    """And none hold."""
    outcome = run(holders(1).job("p", pod=WANT, labels={"app": "training"}), VGPUEnable=True, GPUExclusiveRules="a")

    assert outcome.bindings == {"p-0": "n"}
    assert any("GPUExclusiveRules: got 'a', expected a list of mappings of labels" in each for each in outcome.warnings)


def test_a_deleted_pod_hides_no_card() -> None:
    """Its cards count as free, as without rules: else another pod would be evicted for the waiting one."""
    going = [
        {**each, "metadata": {**each["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
        if each["kind"] == "Pod" and each["metadata"]["labels"].get("app") == "training"
        else each
        for each in holders(1).objects
    ]

    assert placed(Scenario(tuple(going)).job("p", pod=WANT, labels={"app": "training"})) == {"p-0": ["GPU-0"]}
    assert placed(holders(1).job("p", pod=WANT, labels={"app": "training"})) == {}


def test_pods_of_a_group_spread_over_cards() -> None:
    """Two have two; of a third there is no card."""
    there = with_cards(Scenario(), "n", 1000, 1000).job("p", tasks=3, min_available=1, pod=WANT, annotations=SPREAD)
    outcome = run(there)

    assert cards_of(outcome) == {"p-0": ["GPU-1"], "p-1": ["GPU-0"]}
    assert "1 not enough gpu fitted on this node." in outcome.why_pod("p-2")


def test_pods_of_different_groups_may_share() -> None:
    """Both spread, each among its own."""
    there = with_cards(Scenario(), "n", 1000)
    outcome = run(there.job("p", pod=WANT, annotations=SPREAD).job("q", pod=WANT, annotations=SPREAD))

    assert cards_of(outcome) == {"p-0": ["GPU-0"], "q-0": ["GPU-0"]}


def test_a_pod_that_does_not_spread_may_share_with_one_that_does() -> None:
    """Also a pod of the same group."""
    there = with_cards(Scenario(), "n", 1000).job("p", tasks=2, pod=WANT)

    assert cards_of(run(there)) == {"p-0": ["GPU-0"], "p-1": ["GPU-0"]}


def test_a_group_is_known_by_its_running_pods() -> None:
    """As their annotations say: the first card is taken by the group."""
    there = with_cards(Scenario(), "n", 1000, 1000)
    there = there.job("p", tasks=2, min_available=1, running_on=["n"], pod=WANT, annotations=SPREAD)
    pods = [
        {
            **each,
            "metadata": {
                **each["metadata"],
                "annotations": {**each["metadata"]["annotations"], IDS: "GPU-1,NVIDIA,100,0:"},
            },
        }
        if each["kind"] == "Pod" and each["spec"]["nodeName"]
        else each
        for each in there.objects
    ]

    assert cards_of(run(Scenario(tuple(pods)))) == {"p-1": ["GPU-0"]}
