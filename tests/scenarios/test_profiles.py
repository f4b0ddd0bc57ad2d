"""Several profiles in one process: each decides about its own jobs, on what those before it have left."""

from typing import Any

from tests.unit.scheduler.cases import answer_of, group, node, pod

CONFIG = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: binpack}]
profiles:
- schedulerName: spreading
  tiers:
  - plugins: [{name: gang}, {name: predicates}, {name: nodeorder}]
- schedulerName: idle
  actions: backfill
"""
QUEUE = {"metadata": {"name": "default"}, "spec": {"weight": 1}}


def rounds(objects: dict[str, Any], names: list[str], **more: Any) -> list[dict[str, Any]]:
    """Return the cycles of a process that serves some names."""
    case = {"config": CONFIG, "objects": {"queues": [QUEUE], **objects}, "schedulerNames": names, **more}
    found: list[dict[str, Any]] = answer_of(case)["rounds"]
    return found


def test_each_profile_places_its_own_jobs_by_its_own_plugins() -> None:
    """The pods of one profile are spread, those of the other are packed."""
    objects = {
        "nodes": [node("n1"), node("n2")],
        "podGroups": [group("s"), group("p")],
        "pods": [
            *(pod(f"s{number}", "s", scheduler="spreading") for number in range(2)),
            *(pod(f"p{number}", "p", scheduler="packing") for number in range(2)),
        ],
    }
    (done,) = rounds(objects, ["packing", "spreading"])
    nodes = done["binds"]

    assert nodes["default/s0"] != nodes["default/s1"]
    assert nodes["default/p0"] == nodes["default/p1"]


def test_a_later_profile_sees_the_decisions_of_an_earlier_one() -> None:
    """The node has room for one of two jobs; the profile that stands first in the file gets it."""
    objects = {
        "nodes": [node("n1", cpu=2)],
        "podGroups": [group("first"), group("later")],
        "pods": [pod("a", "first", cpu=2, scheduler="spreading"), pod("b", "later", cpu=2, scheduler="other")],
    }
    (done,) = rounds(objects, ["other", "spreading"])

    assert done["binds"] == {"default/a": "n1"}
    assert done["podRefusals"]["default/b"][0]["counts"] == {"Insufficient cpu": 1}
    assert set(done["phases"]) == {"default/first", "default/later"}


def test_a_profile_leaves_the_jobs_of_others_alone() -> None:
    """A profile without allocate places no pod; the others do not place its pods either, nor explain them."""
    objects = {
        "nodes": [node("n1")],
        "podGroups": [group("g"), group("own")],
        "pods": [pod("a", "g", scheduler="idle"), pod("b", "own", scheduler="spreading")],
    }
    cycles = rounds(objects, ["idle", "spreading"], rounds=2, explain=["default/a", "default/b"])

    assert [list(each["binds"]) for each in cycles] == [["default/b"], []]
    explained = {each["pod"]: (each["profile"], each["moment"]) for each in cycles[0]["explained"]}
    assert explained == {"default/a": ("idle", "at the end"), "default/b": ("spreading", "placed")}


def test_a_group_without_pods_is_admitted_once() -> None:
    """The first profile with enqueue admits it, whatever its pods will be."""
    waiting = group("g") | {"status": {"phase": "Pending"}}
    waiting["spec"] = {**waiting["spec"], "minResources": {"cpu": "1"}}
    (done,) = rounds({"nodes": [node("n1")], "podGroups": [waiting], "pods": []}, ["idle", "spreading", "other"])

    assert done["phases"] == {"default/g": "Inqueue"}


def test_one_profile_of_a_file_with_several_works_as_a_file_of_its_own() -> None:
    """A process that serves one name decides as before."""
    objects = {
        "nodes": [node("n1"), node("n2")],
        "podGroups": [group("s"), group("p")],
        "pods": [pod("s0", "s", scheduler="spreading"), pod("p0", "p", scheduler="packing")],
    }

    assert list(rounds(objects, ["spreading"])[0]["binds"]) == ["default/s0"]
    assert list(rounds(objects, ["packing"])[0]["binds"]) == ["default/p0"]
