"""The demonstration: what it submits, what it counts, what it draws."""

import io

from pyroclast.model import wire
from pyroclast.scheduler.demo.display import Picture, histogram
from pyroclast.scheduler.demo.progress import cpu_fractions, measure, reason_of
from pyroclast.scheduler.demo.workload import (
    IMPOSSIBLE,
    NODE_CPU,
    QUEUES,
    DemoGang,
    gangs,
    impossible_gang,
    nodes_needed,
)


def pod(name: str, *, node: str = "", phase: str = "Pending", cpu: str = "2") -> wire.Pod:
    """Make a pod as the API server shows it."""
    container = wire.Container(resources=wire.ResourceRequirements(requests={"cpu": cpu}))
    return wire.Pod(
        metadata=wire.ObjectMeta(name=name, namespace="demo", uid=name),
        spec=wire.PodSpec(node_name=node, containers=(container,)),
        status=wire.PodStatus(phase=phase),
    )


def by_key(*pods: wire.Pod) -> dict[str, wire.Pod]:
    """Return pods as a reflector keeps them."""
    return {each.metadata.key: each for each in pods}


def test_all_pods_asked_for_are_submitted_to_four_queues() -> None:
    """2,000 pods are shared out in whole gangs."""
    made = gangs(2000)

    assert sum(gang.size for gang in made) == 2000
    assert {gang.queue for gang in made} == {queue.name for queue in QUEUES}
    assert len({gang.name for gang in made}) == len(made)


def test_pods_name_their_group_and_the_scheduler() -> None:
    """Each pod of a gang has the annotation that ties it to its group."""
    gang = DemoGang(name="g", queue="research", size=2, cpu=3)

    assert [each["metadata"]["annotations"]["scheduling.k8s.io/group-name"] for each in gang.pods()] == ["g", "g"]
    assert {each["spec"]["schedulerName"] for each in gang.pods()} == {"volcano"}
    assert gang.group()["spec"]["minMember"] == 2


def test_impossible_gang_asks_for_more_than_a_node_has() -> None:
    """One pod of it is twice a node."""
    assert impossible_gang().cpu == 2 * NODE_CPU


def test_default_demonstration_fits_its_nodes() -> None:
    """2,000 pods run on 200 nodes; a thousand nodes' worth of pods does not."""
    assert nodes_needed(2000) <= 200 < nodes_needed(10_000)


def test_progress_counts_whole_and_broken_gangs() -> None:
    """A gang is whole when all its pods have a node, broken when only some have."""
    submitted = [
        DemoGang(name="a", queue="training", size=2, cpu=1),
        DemoGang(name="b", queue="training", size=2, cpu=1),
    ]
    progress = measure(
        submitted,
        by_key(
            pod("a-worker-0", node="n1", phase="Running"),
            pod("a-worker-1", node="n2"),
            pod("b-worker-0", node="n1"),
            pod("b-worker-1"),
        ),
    )

    training = next(queue for queue in progress.queues if queue.name == "training")
    assert (training.pods, training.bound, training.running) == (4, 3, 1)
    assert (training.gangs, training.whole, training.broken) == (2, 1, 1)
    assert not progress.is_done


def test_nodes_are_measured_by_what_their_pods_ask_for() -> None:
    """Half of a node's CPU asked for is one half."""
    node = wire.Node(
        metadata=wire.ObjectMeta(name="n1"), status=wire.NodeStatus(allocatable={"cpu": "4", "memory": "1Gi"})
    )

    assert cpu_fractions({"n1": node}, by_key(pod("a", node="n1"), pod("b"))) == [0.5]


def test_histogram_counts_by_quarters() -> None:
    """Ends of quarters belong to the quarter they end."""
    assert [count for _, count in histogram([0.0, 0.25, 0.26, 0.5, 1.0, 1.0])] == [1, 1, 2, 0, 2]


def test_reason_is_read_from_the_condition_of_the_group() -> None:
    """What the PodGroup says is what is shown, once it says something."""
    condition = wire.PodGroupCondition(
        type="Unschedulable", status="True", reason="NotEnoughResources", message="too large"
    )
    silent = wire.PodGroup(metadata=wire.ObjectMeta(name=IMPOSSIBLE))
    speaking = wire.PodGroup(
        metadata=wire.ObjectMeta(name=IMPOSSIBLE), status=wire.PodGroupStatus(conditions=(condition,))
    )

    assert reason_of([silent]) is None
    assert reason_of([speaking]) == "NotEnoughResources: too large"


def test_output_that_is_no_terminal_is_plain() -> None:
    """No escape sequences reach a file or a pipe."""
    stream = io.StringIO()
    picture = Picture(stream)
    progress = measure(gangs(100), {})
    with picture.live():
        picture.show(progress, 1.0)
    picture.finish(progress)
    picture.nodes([0.0, 1.0])

    assert "\x1b" not in stream.getvalue()
    assert "bound     0 of 100" in stream.getvalue()
