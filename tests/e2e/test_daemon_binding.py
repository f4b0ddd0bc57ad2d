"""What the daemon does with groups and pods, read as a user reads it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on

IMPOSSIBLE = "0/4 nodes are unavailable: 4 Insufficient cpu."


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "binding", folder=tmp_path_factory.mktemp("binding")) as ground:
        yield ground


@pytest.fixture(scope="module")
def daemon(ground: Ground) -> Iterator[Daemon]:
    """One daemon for all tests of this file."""
    with ground.daemon(ground.folder) as daemon:
        yield daemon


def test_a_running_gang_is_consistent_in_all_outputs(ground: Ground, daemon: Daemon) -> None:
    """Pods run on nodes; group, queue, conditions and events tell of it, in `get` and in `describe`."""
    ground.gang("fits", 4, "4")
    daemon.wait_for(
        lambda: ground.phase_of("fits") == "Running" and ground.read_group("fits")["status"]["running"] == 4
    )

    assert ground.phases_of("fits") == ["Running"] * 4
    row = ground.kubectl("get", "podgroup", "fits", "--no-headers", "-o", "wide").split()
    assert row[:4] == ["fits", "Running", "4", "4"]
    assert row[5] == "binding"
    last = "fits-worker-3"
    daemon.wait_for(lambda: bool(ground.events_of(last)))
    node = ground.nodes_of("fits")[3]
    assert ground.events_of(last) == [("Scheduled", f"Successfully assigned binding/{last} to {node}")]
    described = ground.kubectl("describe", "podgroup", "fits")
    assert "pod group is ready" in described
    assert ground.condition_of("fits-worker-0")["status"] == "True"
    daemon.wait_for(lambda: allocated(ground) == {"cpu": "16", "memory": "0", "pods": "4"})

    ground.remove("fits")
    daemon.wait_for(lambda: allocated(ground).get("cpu", "0") == "0")


def allocated(ground: Ground) -> dict[str, str]:
    """Return what the queue says that it holds."""
    told = ground.kubectl("get", "queue", ground.name, "-o", "jsonpath={.status.allocated}")
    return dict(pair.split(":") for pair in told.strip("{}").replace('"', "").split(",") if pair)


def test_an_impossible_gang_says_why(ground: Ground, daemon: Daemon) -> None:
    """Nothing is bound; the condition, the pods' conditions, the events and `explain` give the same reason."""
    ground.gang("large", 2, "12")
    # a cycle that comes between its two pods finds a gang of one, for another reason
    daemon.wait_for(
        lambda: any(
            each["reason"] == "NotEnoughResources"
            for each in ground.read_group("large").get("status", {}).get("conditions", ())
        )
    )

    (condition,) = ground.read_group("large")["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "Unschedulable",
        "True",
        "NotEnoughResources",
    )
    never = "It can never run: the largest node has 8 cpu."
    assert condition["message"].endswith(f"Origin reason is large-worker-0: {IMPOSSIBLE} {never}")
    assert ground.nodes_of("large") == ["", ""]
    daemon.wait_for(lambda: bool(ground.events_of("large")) and bool(ground.condition_of("large-worker-0")))
    assert ("Unschedulable", condition["message"]) in ground.events_of("large")
    assert ground.condition_of("large-worker-0")["reason"] == "Unschedulable"
    assert ground.condition_of("large-worker-0")["message"] == f"{IMPOSSIBLE} {never}"
    assert IMPOSSIBLE in ground.kubectl("describe", "pod", "large-worker-0")
    explained = daemon.get_json("/debug/explain?job=binding/large")
    assert explained["taskRefusals"]["binding/large-worker-0"][0]["message"] == f"{IMPOSSIBLE} {never}"
    assert explained["taskRefusals"]["binding/large-worker-0"][0]["counts"] == {"Insufficient cpu": 4}


def test_a_gang_waits_for_the_last_of_its_room(ground: Ground, daemon: Daemon) -> None:
    """Three of four members would fit; none is bound until there is room for all."""
    ground.gang("first", 1, "6")
    daemon.wait_for(lambda: ground.is_placed("first"))
    ground.gang("second", 4, "6")
    daemon.wait_cycles(3)
    assert ground.nodes_of("second") == [""] * 4

    ground.remove("first")
    daemon.wait_for(lambda: ground.phase_of("second") == "Running")
    assert len(set(ground.nodes_of("second"))) == 4


def test_pods_of_others_only_take_room(ground: Ground, daemon: Daemon) -> None:
    """Pods of another scheduler are never bound by us, and what they hold is not given away."""
    names = sorted(node["metadata"]["name"] for node in ground.nodes())
    for name in names[:3]:
        ground.pod(f"other-{name}", "8", gang="other", schedulerName="default-scheduler", nodeName=name)
    ground.pod("waiting", "1", schedulerName="default-scheduler")
    daemon.wait_for(lambda: ground.phases_of("other") == ["Running"] * 3)
    ground.gang("ours", 2, "4")
    daemon.wait_for(lambda: ground.is_placed("ours"))

    assert ground.nodes_of("ours") == [names[3]] * 2
    assert ground.nodes_of("waiting") == [""]
    assert ground.condition_of("waiting") == {}


def test_a_pod_without_a_group_gets_a_waiting_message(ground: Ground, daemon: Daemon, tmp_path: Path) -> None:
    """By default it gets a reason; with `--ungrouped-pods=single` it runs alone."""
    ground.pod("loose")
    daemon.wait_for(lambda: bool(ground.condition_of("loose")))

    assert ground.nodes_of("loose") == [""]
    assert "names no PodGroup" in ground.condition_of("loose")["message"]
    daemon.wait_metric('pyroclast_outsiders{reason="NoPodGroup"}', 1)
    with ground.daemon(tmp_path, "--ungrouped-pods=single") as second:
        second.wait_for(lambda: ground.phases_of("loose") == ["Running"])
    assert ground.condition_of("loose")["status"] == "True"


def test_pods_whose_group_is_missing_say_so(ground: Ground, daemon: Daemon) -> None:
    """A pod with a missing group, and a group with a missing queue, have the reason in their conditions."""
    ground.pod("early", group="unmade")
    ground.group("astray", 1, queue="no-such-queue")
    ground.pod("astray-0", group="astray")
    daemon.wait_for(lambda: bool(ground.condition_of("early")) and bool(ground.condition_of("astray-0")))

    assert "unmade" in ground.condition_of("early")["message"]
    assert "no-such-queue" in ground.condition_of("astray-0")["message"]


def test_root_and_default_queue_are_made(ground: Ground, daemon: Daemon) -> None:
    """The scheduler creates the queues that Volcano's creates, also again if they are deleted while it leads."""
    daemon.wait_for(lambda: {"root", "default"} <= set(queues(ground)))

    ground.kubectl("delete", "queue", "default", "root")
    daemon.wait_for(lambda: {"root", "default"} <= set(queues(ground)))


def queues(ground: Ground) -> list[str]:
    """Name all queues."""
    return ground.kubectl("get", "queues", "-o", "jsonpath={.items[*].metadata.name}").split()


def test_invalid_annotations_are_reported_and_block_no_pod(ground: Ground, daemon: Daemon) -> None:
    """A group whose annotations cannot be read is counted and named in the log; it and the others run."""
    ground.group("mixed", 1)
    ground.kubectl("annotate", "podgroup", "mixed", "volcano.sh/preemptable=perhaps")
    ground.pod("mixed-0", group="mixed")
    daemon.wait_for(lambda: ground.is_placed("mixed"))

    daemon.wait_for(lambda: bool(daemon.metric('pyroclast_broken_fields_total{kind="PodGroup"}')))
    daemon.wait_logged("object_broken")
    lines = [line for line in daemon.process.log_events() if line["event"] == "object_broken"]
    assert any("mixed" in str(line) and "perhaps" in str(line) for line in lines), lines
    assert daemon.is_ready


def test_misleading_fields_of_a_group_are_reported(ground: Ground, daemon: Daemon) -> None:
    """Its condition says why it waits, with the selector that cannot be read; events say the rest."""
    term = {"key": "part", "operator": "Is", "values": ["a"]}
    policy = {"name": "part", "labelSelector": {"matchExpressions": [term]}, "minSubGroups": 1}
    ground.group("odd", 2, subGroupPolicy=[policy], networkTopology={"mode": "hard"})
    for number in range(2):
        ground.pod(f"odd-worker-{number}", group="odd")
    reasons = {"UnreadableSelector", "NoSubGroup", "TopologyWithoutTier"}
    daemon.wait_for(lambda: reasons <= {reason for reason, _ in ground.events_of("odd")})

    words = (
        "labelSelector.matchExpressions[0].operator: 'Is' is none of In, NotIn, Exists, DoesNotExist; selects nothing"
    )
    daemon.wait_for(lambda: words in str(ground.read_group("odd")["status"]["conditions"]))
    (condition,) = ground.read_group("odd")["status"]["conditions"]
    assert condition["reason"] == "NotEnoughPodsOfTask"
    assert f"part has 0 of 1 sub-groups with 1 pod (subGroupPolicy[0].{words})" in condition["message"]
    described = ground.kubectl("describe", "podgroup", "odd")
    assert f"spec.subGroupPolicy[0].{words}" in described
    assert "spec.networkTopology: has no effect without highestTierAllowed or highestTierName" in described
    assert "spec.subGroupPolicy: 2 of 2 pods are in no sub-group" in described
    ground.remove("odd")
