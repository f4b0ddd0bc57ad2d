"""Why this node: scores by plugin at the moment of the decision, and the rule that refuses each other node."""

from typing import Any

from tests.unit.scheduler.cases import answer_of, group, node, pod

CONFIG = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: proportion}, {name: binpack, arguments: {binpack.weight: 10}}]
"""
QUEUE = {"metadata": {"name": "default"}, "spec": {"weight": 1}}


def explained(objects: dict[str, Any], *names: str, **more: Any) -> list[dict[str, Any]]:
    """Return the explanations of the last cycle."""
    case = {"config": CONFIG, "objects": {"queues": [QUEUE], **objects}, "explain": list(names), **more}
    found: list[dict[str, Any]] = answer_of(case)["rounds"][-1].get("explained", [])
    return found


def test_each_of_a_run_of_equal_pods_is_explained_after_those_before_it() -> None:
    """Binpack fills one node: with each pod its score rises, and the full node is refused for the third pod."""
    pods = [pod(f"p{number}", "g", cpu=2) for number in range(3)]
    objects = {"nodes": [node("n1"), node("n2")], "podGroups": [group("g", members=3)], "pods": pods}
    first, second, third = explained(objects, "default/g")

    assert [each["pod"] for each in (first, second, third)] == ["default/p0", "default/p1", "default/p2"]
    assert [each["node"] for each in (first, second, third)] == ["n1", "n1", "n2"]
    assert {each["moment"] for each in (first, second, third)} == {"placed"}
    assert first["scores"][0]["total"] == first["scores"][1]["total"]
    assert second["scores"][0]["weighted"]["binpack"] > second["scores"][1]["weighted"]["binpack"]
    assert second["scores"][0]["raw"]["binpack"] * 10 == second["scores"][0]["weighted"]["binpack"]
    assert [(rule["reason"], rule["nodes"]) for rule in third["refusals"]] == [("Insufficient cpu", ["n1"])]


def test_explaining_changes_no_decision() -> None:
    """The answer with explanations is the answer without, and the explanations."""
    pods = [pod(f"p{number}", "g", cpu=2) for number in range(5)]
    objects = {"queues": [QUEUE], "nodes": [node("n1"), node("n2")], "podGroups": [group("g")], "pods": pods}
    case: dict[str, Any] = {"config": CONFIG, "objects": objects, "rounds": 3}
    plain, more = answer_of(case)["rounds"], answer_of(case | {"explain": ["default/g"]})["rounds"]

    assert all(each.pop("explained") for each in more)
    assert more == plain


def test_a_pod_that_waits_shows_which_rule_refuses_which_node() -> None:
    """Each node has its rule; there is no candidate."""
    taint = {"key": "a", "effect": "NoSchedule"}
    objects = {
        "nodes": [node("full", cpu=1), node("tainted", cpu=8, taints=[taint])],
        "podGroups": [group("g")],
        "pods": [pod("p", "g", cpu=2)],
    }
    (found,) = explained(objects, "default/p")

    assert (found["moment"], found["node"], found["candidates"], found["scores"]) == ("refused", None, 0, [])
    assert {(rule["plugin"], tuple(rule["nodes"])) for rule in found["refusals"]} == {
        ("resources", ("full",)),
        ("predicates", ("tainted",)),
    }


def test_a_member_whose_gang_cannot_start_shows_the_place_that_was_given_back() -> None:
    """One of two members fits: its scores are those of the try."""
    objects = {
        "nodes": [node("n1", cpu=2), node("small0", cpu=1), node("small1", cpu=1)],
        "podGroups": [group("g", members=2)],
        "pods": [pod("p0", "g", cpu=2), pod("p1", "g", cpu=2)],
    }
    moments = {each["pod"]: (each["moment"], each["node"]) for each in explained(objects, "default/g")}

    assert sorted(moments.values(), key=str) == [("refused", None), ("tried", "n1")]


def test_a_running_pod_is_scored_as_if_it_were_placed_now() -> None:
    """Its own resources do not count against its node; the pods of others do."""
    objects = {
        "nodes": [node("n1"), node("n2")],
        "podGroups": [group("g"), group("other")],
        "pods": [pod("p", "g", cpu=4, on="n1"), pod("q", "other", cpu=3, on="n2")],
    }
    (found,) = explained(objects, "default/p")

    assert (found["moment"], found["node"]) == ("at the end", "n1")
    assert [row["node"] for row in found["scores"]] == ["n1"]
    assert [(rule["reason"], rule["nodes"]) for rule in found["refusals"]] == [("Insufficient cpu", ["n2"])]


def test_a_job_is_found_by_the_name_of_its_controller() -> None:
    """The PodGroup is named after the Job and its UID; the Job's name gives all its pods."""
    made = group("", owner="train")
    objects = {
        "nodes": [node("n1")],
        "podGroups": [made],
        "pods": [pod(f"train-{number}", made["metadata"]["name"]) for number in range(2)],
    }

    assert [each["pod"] for each in explained(objects, "default/train")] == ["default/train-0", "default/train-1"]
    assert [each["job"] for each in explained(objects, "default/train-1")] == [f"default/{made['metadata']['name']}"]
    assert explained(objects, "default/other") == []


def test_the_number_of_nodes_in_a_table_is_bounded() -> None:
    """The best ones come first, and rules name as many."""
    objects = {
        "nodes": [node(f"n{number}") for number in range(9)] + [node(f"small{number}", cpu=1) for number in range(9)],
        "podGroups": [group("g")],
        "pods": [pod("p", "g", cpu=2)],
    }
    (found,) = explained(objects, "default/p", explainNodes=3)

    assert (found["nodes"], found["candidates"], len(found["scores"])) == (18, 9, 3)
    (rule,) = found["refusals"]
    assert (rule["count"], rule["nodes"]) == (9, ["small0", "small1", "small2"])
