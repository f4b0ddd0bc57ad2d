"""What capacity keeps of Volcano though it surprises: what a tree deserves, when shares change, what pods count for."""

from typing import Any

from tests.unit.plugins.capacity import holding
from tests.unit.plugins.policies import World, group, node, opened, pod, queue


def world(*objects: Any, tree: bool = True) -> World:
    """A session with capacity alone, on one node of 8 CPU."""
    root = [queue("root", deserved={"cpu": "1"})] if tree else []
    return opened(node("n"), *root, *objects, plugins=[{"name": "capacity", "enableHierarchy": tree}])


def deserved(there: World, name: str) -> float:
    """CPUs that a queue deserves."""
    return there.samples("queue_deserved_milli_cpu")[name] / 1000


GENEROUS: dict[str, Any] = {"deserved": {"cpu": "20"}, "capability": {"cpu": "4"}}


def test_the_root_deserves_what_its_children_do() -> None:
    """Whatever it says of itself."""
    there = world(queue("a", deserved={"cpu": "2"}), queue("b", deserved={"cpu": "3"}))

    assert deserved(there, "root") == 5


def test_in_a_tree_what_is_deserved_is_not_cut_to_the_limit() -> None:
    """Side by side it is."""
    assert deserved(world(queue("a", **GENEROUS)), "a") == 20
    assert deserved(world(queue("a", **GENEROUS), tree=False), "a") == 4


def test_shares_of_ancestors_are_those_of_the_beginning() -> None:
    """A placement changes the share of the leaf at once, and of its parent in the next cycle."""
    there = world(
        queue("parent", deserved={"cpu": "4"}),
        queue("leaf", parent="parent", deserved={"cpu": "2"}),
        group("job", queue="leaf"),
        pod("p"),
    )
    books = holding(there).usage
    there.place(there.session.statement(), "p", "n")

    shares = {name: books[there.queue(name).name].share for name in ("leaf", "parent")}
    assert shares == {"leaf": 0.5, "parent": 0.0}


def test_pods_that_are_deserved_are_something_that_every_pod_has() -> None:
    """A queue that deserves 9 pods gives up none at once, though it has CPU without a deserved amount."""
    reclaimer = group("own", queue="own"), pod("mine", job="own")

    def victims(**promised: Any) -> list[str]:
        there = world(
            queue("own"),
            queue("other", **promised),
            group("job", queue="other"),
            pod("p", on="n"),
            *reclaimer,
            tree=False,
        )
        chosen, _ = holding(there).reclaimable(there.task("mine"), [there.task("p")])
        return [task.name for task in chosen]

    assert victims() == ["p"]
    assert victims(deserved={"pods": "9"}) == []
