"""What the nodes of a profile come to, and the quota that says so."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from pyroclast.controllers.quotaprofiles.root_quota import change_of, faults_of, faults_of_root, root_of, tree_of
from pyroclast.model import wire
from pyroclast.model.api.quota import ElasticQuota, ElasticQuotaProfile
from pyroclast.model.elastic.names import (
    DEFAULT_QUOTA,
    IS_PARENT,
    IS_ROOT,
    PROFILE,
    RESOURCE_KEYS,
    ROOT_QUOTA,
    SYSTEM_QUOTA,
    TOTAL_RESOURCE,
    TREE_ID,
    UNSCHEDULABLE_RESOURCE,
)
from pyroclast.model.elastic.quota import read_quota
from pyroclast.model.wire import Node

GPU = "nvidia.com/gpu"


def profile(
    *, labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None, **spec: Any
) -> ElasticQuotaProfile:
    """Read a profile of the nodes of a pool."""
    return msgspec.convert(
        {
            "metadata": {
                "name": "gpu-pool",
                "namespace": "kube-system",
                "labels": dict(labels or {}),
                "annotations": dict(annotations or {}),
            },
            "spec": {"quotaName": "gpu-root", "nodeSelector": {"matchLabels": {"pool": "gpu"}}, **spec},
        },
        ElasticQuotaProfile,
    )


def node(name: str, *, pool: str = "gpu", cordoned: bool = False, ready: bool = True, **amounts: Any) -> Node:
    """Make a node."""
    ready_condition = {"type": "Ready", "status": str(ready)}
    return msgspec.convert(
        {
            "metadata": {"name": name, "labels": {"pool": pool}},
            "spec": {"unschedulable": cordoned},
            "status": {
                "allocatable": {"cpu": "8", "memory": "16Gi", GPU: "4", **amounts},
                "conditions": [ready_condition],
            },
        },
        Node,
    )


NODES = [
    node("n1", cpu="7900m"),
    node("n2", cordoned=True),
    node("n3", ready=False),
    node("other", pool="cpu"),
]


def test_nodes_are_summed_up() -> None:
    """Three of the pool with 7.9, 8 and 8 CPUs, of which two take no pods; the fourth is another's."""
    written = root_of(profile(), NODES).manifest()
    annotations = written["metadata"]["annotations"]
    assert json.loads(annotations[TOTAL_RESOURCE]) == {"cpu": "23900m", "memory": "48Gi", GPU: "12"}
    assert json.loads(annotations[UNSCHEDULABLE_RESOURCE]) == {"cpu": "16", "memory": "32Gi", GPU: "8"}
    most = "4611686018427387"
    assert written["spec"] == {"min": {"cpu": "23900m", "memory": "48Gi"}, "max": {"cpu": most, "memory": most}}


def test_a_ratio_cuts_what_there_is() -> None:
    """Nine tenths of 24 CPUs and 12 GPUs, rounded down; of the GPUs, which keys name, a guarantee."""
    nodes = [node(f"n{number}") for number in range(3)]
    wanted = profile(annotations={RESOURCE_KEYS: json.dumps(["cpu", GPU])}, resourceRatio="0.9")
    written = root_of(wanted, nodes).manifest()
    assert json.loads(written["metadata"]["annotations"][TOTAL_RESOURCE])[GPU] == "10"
    assert written["spec"]["min"] == {"cpu": "21600m", GPU: "10"}


def test_a_ratio_cuts_as_koordinator_does() -> None:
    """With its floating-point numbers, 28.999999999999996 here; else two controllers would write for ever."""
    wanted = profile(resourceRatio="0.29")
    assert root_of(wanted, [node("n", memory="100")]).total["memory"] == 28


def test_a_pool_without_nodes_has_nothing() -> None:
    """Its tree is there, and is guaranteed none of its keys."""
    written = root_of(profile(), [node("other", pool="cpu")]).manifest()
    assert written["metadata"]["annotations"][TOTAL_RESOURCE] == "{}"
    assert written["spec"]["min"] == {"cpu": "0", "memory": "0"}


def test_labels_say_whose_root_it_is() -> None:
    """Those of the profile come first, whatever its `quotaLabels` say; a tree that it names is taken."""
    wanted = profile(labels={TREE_ID: "gpus"}, quotaLabels={IS_PARENT: "true", IS_ROOT: "false", "team": "x"})
    labels = root_of(wanted, []).labels
    assert labels == {IS_PARENT: "true", IS_ROOT: "true", "team": "x", TREE_ID: "gpus", PROFILE: "gpu-pool"}


def test_a_tree_without_a_name_gets_a_number() -> None:
    """FNV-1a over 64 bits of `kube-system/gpu-pool`, in decimal, as Go's hash/fnv has it."""
    assert tree_of(profile()) == "17661029769335466936"


def test_the_scheduler_reads_what_is_written() -> None:
    """As the root of its tree, without a fault."""
    written = root_of(profile(labels={TREE_ID: "gpus"}), NODES).manifest()
    metadata = wire.ObjectMeta(name="gpu-root", namespace="kube-system", **written["metadata"])
    faults: list[Any] = []
    spec = wire.ElasticQuotaSpec(**written["spec"])
    read = read_quota(wire.ElasticQuota(metadata=metadata, spec=spec), faults.append)
    assert faults == []
    assert read.tree_total == {"cpu": 23900, "memory": 48 * 1024**3 * 1000, GPU: 12000}


def quota(written: Mapping[str, Any], **metadata: Any) -> ElasticQuota:
    """Read a quota that stands on the server."""
    return msgspec.convert(
        {"metadata": {"name": "gpu-root", **written["metadata"], **metadata}, "spec": written["spec"]}, ElasticQuota
    )


def test_what_is_right_is_left_alone() -> None:
    """However its amounts are written, and whatever else it carries."""
    root = root_of(profile(), NODES)
    written = root.manifest()
    assert change_of(quota(written), root) == {}
    written["spec"]["min"] = {"cpu": "23.9", "memory": str(48 * 1024**3)}
    written["metadata"]["annotations"][TOTAL_RESOURCE] = json.dumps({"cpu": 23.9, "memory": "48Gi", GPU: 12})
    written["metadata"]["annotations"]["quota.scheduling.koordinator.sh/runtime"] = "{}"
    written["metadata"]["labels"]["more"] = "true"
    assert change_of(quota(written), root) == {}


def test_what_is_wrong_is_named_in_the_change() -> None:
    """And nothing else: an amount that is gone is taken away, a label is put back."""
    root = root_of(profile(), NODES)
    written = root.manifest()
    written["spec"]["min"] = {"cpu": "1", "memory": "48Gi", GPU: "1"}
    written["metadata"]["labels"][IS_ROOT] = "false"
    written["metadata"]["annotations"][TOTAL_RESOURCE] = "nonsense"
    right = root.manifest()
    assert change_of(quota(written), root) == {
        "metadata": {
            "labels": right["metadata"]["labels"],
            "annotations": {TOTAL_RESOURCE: right["metadata"]["annotations"][TOTAL_RESOURCE]},
        },
        "spec": {"min": {"cpu": "23900m", "memory": "48Gi", GPU: None}},
    }


@pytest.mark.parametrize(
    "text", ["0", "-1", "1.1", "x", "", "1/0", "nan", "inf", "1e999", "1e-999999999", "1/2", "1_0e-1", " 1"]
)
def test_an_invalid_ratio_is_reported(text: str) -> None:
    """It counts as one."""
    wanted = profile(resourceRatio=text)
    assert [fault.partition(":")[0] for fault in faults_of(wanted)] == ["spec.resourceRatio"]
    assert root_of(wanted, NODES).total["cpu"] == 23900


@pytest.mark.parametrize("text", ["x", "{}", "[1]", '"cpu"', "[]"])
def test_invalid_keys_are_reported(text: str) -> None:
    """They count as cpu and memory."""
    wanted = profile(annotations={RESOURCE_KEYS: text})
    assert [fault.partition(":")[0] for fault in faults_of(wanted)] == [f"metadata.annotations.{RESOURCE_KEYS}"]
    assert root_of(wanted, NODES).keys == ("cpu", "memory")


def test_other_faults_are_reported_with_their_fields() -> None:
    """A selector that selects nothing whatever labels there are, and a missing name; a sound profile has none."""
    expressions = [{"key": "pool", "operator": "Like", "values": ["x"]}]
    wanted = profile(quotaName="", nodeSelector={"matchExpressions": expressions})
    assert [fault.partition(":")[0] for fault in faults_of(wanted)] == [
        "spec.quotaName",
        "spec.nodeSelector.matchExpressions[0].operator",
    ]
    assert list(faults_of(profile())) == []


@pytest.mark.parametrize("name", [ROOT_QUOTA, DEFAULT_QUOTA, SYSTEM_QUOTA])
def test_what_is_built_in_is_no_root_of_a_tree(name: str) -> None:
    """The scheduler would not take it for one, and the limits of the default quota would be gone."""
    assert list(faults_of_root(profile(quotaName=name))) == [
        f"spec.quotaName: {name} is built in, and no root of a tree"
    ]


def test_a_node_that_says_nonsense_counts_as_none() -> None:
    """The others are there all the same."""
    assert root_of(profile(), [node("n1"), node("n2", cpu="x")]).total["cpu"] == 8000
