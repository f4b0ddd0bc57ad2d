"""Capacity keeps books of queues without jobs too, also where queues stand side by side."""

from pyroclast.framework.extension import contract
from tests.unit.plugins.policies import World, group, node, opened, pod, queue


def there() -> World:
    """A queue that runs one pod, and one that has nothing to run."""
    queues = queue("busy", deserved={"cpu": "2"}), queue("idle", deserved={"cpu": "2"})
    return opened(node("n"), *queues, group("job", queue="busy"), pod("p", on="n"), plugins=["capacity"])


def test_it_takes_part_in_the_order_of_queues() -> None:
    """With a share of nothing it goes first."""
    world = there()
    rank = world.function(contract.QUEUE_ORDER).function

    assert rank(world.queue("idle")) < rank(world.queue("busy"))


def test_it_has_its_figures() -> None:
    """What it deserves, and that it has nothing."""
    world = there()

    assert world.samples("queue_deserved_milli_cpu") == {"busy": 2000, "default": 0, "idle": 2000}
    assert world.samples("queue_allocated_milli_cpu")["idle"] == 0
