"""Elastic quotas on a server: who is admitted, how a quota stands, and what comes back to its owner."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyroclast.model.elastic.names import DEFAULT_QUOTA, GUARANTEED, REQUEST, ROOT_QUOTA, RUNTIME, SYSTEM_QUOTA
from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import controllers
from tests.e2e.ground import Ground, standing_on
from tests.elastic_quotas import elastic_quota, uses


@pytest.fixture
def ground(cluster_with_crds: Cluster, tmp_path: Path) -> Iterator[Ground]:
    """One node of eight CPUs."""
    with standing_on(cluster_with_crds, "quotas", folder=tmp_path, nodes=1) as ground:
        yield ground


def configuration(folder: Path) -> str:
    """Write tiers with elastic-quota; return the flag that names the file."""
    file = folder / "scheduler.yaml"
    quotas = {"name": "elastic-quota", "arguments": {"delayEvictTime": "1s"}}
    plugins = [{"name": "gang"}, quotas, {"name": "predicates"}]
    file.write_text(json.dumps({"actions": "enqueue, allocate, shuffle", "tiers": [{"plugins": plugins}]}))
    return f"--scheduler-conf={file}"


def wanting(ground: Ground, name: str, quota: str) -> None:
    """Create a pod of a quota that asks for four CPUs."""
    ground.group(name, 1)
    containers = [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "4"}}}]
    ground.pod(name, group=name, containers=containers, labels=uses(quota))


def stands(ground: Ground, quota: str) -> dict[str, Any]:
    """Return how a quota stands, by what its object says."""
    found = json.loads(ground.kubectl("get", "elasticquota", quota, "-o", "json"))
    annotations = found["metadata"].get("annotations", {})
    told = {key: json.loads(annotations.get(key, "{}")).get("cpu", "0") for key in (RUNTIME, REQUEST, GUARANTEED)}
    return {"used": found.get("status", {}).get("used", {}).get("cpu", "0"), **told}


def test_what_is_lent_comes_back(ground: Ground, tmp_path: Path) -> None:
    """One quota has all, until the other asks for its half: the younger of two pods goes, and the owner's runs."""
    for name in ("left", "right"):
        quota = elastic_quota(name, least={"cpu": 4}, most={"cpu": 8}, namespace=ground.name)
        ground.kubectl("create", "-f", "-", input=json.dumps(quota))
    with ground.daemon(tmp_path, configuration(tmp_path)) as daemon:
        for name in ("first", "second"):
            wanting(ground, name, "left")
            daemon.wait_for(lambda name=name: ground.is_placed(name))  # type: ignore[misc]
        daemon.wait_for(lambda: stands(ground, "left") == {"used": "8", RUNTIME: "8", REQUEST: "8", GUARANTEED: "4"})
        assert stands(ground, "right") == {"used": "0", RUNTIME: "0", REQUEST: "0", GUARANTEED: "4"}

        wanting(ground, "owner", "right")
        daemon.wait_for(lambda: ground.is_placed("owner"))
        daemon.wait_for(lambda: stands(ground, "left")["used"] == stands(ground, "right")["used"] == "4")
        labels = 'field="used",is_parent="false",name="right",parent="koordinator-root-quota",resource="cpu",tree=""'
        daemon.wait_metric(f"scheduler_elastic_quota_status{{{labels}}}", 4000)

        wanting(ground, "third", "left")
        daemon.wait_for(lambda: "message" in ground.condition_of("third"))
        assert ground.condition_of("third")["message"] == (
            "Insufficient quotas: quota left would exceed its runtime of cpu: "
            "its guarantee and the unused part of other quotas"
        )


@pytest.fixture
def beside(cluster_with_crds: Cluster, tmp_path: Path) -> Iterator[Ground]:
    """Another namespace, and one node of eight CPUs."""
    with standing_on(cluster_with_crds, "built-in-quotas", folder=tmp_path, nodes=1) as ground:
        delete_quotas(ground)
        yield ground
        delete_quotas(ground)


def delete_quotas(ground: Ground) -> None:
    """Delete all quotas of the cluster: a built-in quota of another namespace is not created a second time."""
    for kind in ("elasticquotaprofiles", "elasticquotas"):
        ground.cluster.kubectl("delete", kind, "--all-namespaces", "--all")


def test_built_in_quotas_have_objects_that_count(beside: Ground, cluster_with_crds: Cluster, tmp_path: Path) -> None:
    """The controllers create them with the first quota; a maximum in that of the default quota holds at once."""
    ground = beside
    names = sorted((DEFAULT_QUOTA, ROOT_QUOTA, SYSTEM_QUOTA))

    def made() -> list[str]:
        listed = json.loads(ground.kubectl("get", "elasticquotas", "-o", "json"))["items"]
        return sorted(each["metadata"]["name"] for each in listed if each["metadata"]["name"] in names)

    with controllers(cluster_with_crds, tmp_path, f"--quota-group-namespace={ground.name}") as running:
        quota = elastic_quota("team", least={"cpu": 4}, most={"cpu": 8}, namespace=ground.name)
        ground.kubectl("create", "-f", "-", input=json.dumps(quota))
        running.wait_for(lambda: made() == names)
        ground.kubectl("patch", "elasticquota", DEFAULT_QUOTA, "--type=merge", "-p", '{"spec": {"max": {"cpu": "4"}}}')
        ground.kubectl("delete", "elasticquota", SYSTEM_QUOTA)
        running.wait_for(lambda: made() == names)
        with ground.daemon(tmp_path, configuration(tmp_path)) as daemon:
            wanting(ground, "first", "")
            daemon.wait_for(lambda: ground.is_placed("first"))
            wanting(ground, "second", "missing")
            daemon.wait_for(lambda: "message" in ground.condition_of("second"))
            assert ground.condition_of("second")["message"] == (
                f"Insufficient quotas: quota {DEFAULT_QUOTA} would exceed its maximum of cpu"
            )
            # the second pod moves from the default quota to its own as soon as that exists
            quota = elastic_quota("missing", least={"cpu": 2}, most={"cpu": 8}, namespace=ground.name)
            ground.kubectl("create", "-f", "-", input=json.dumps(quota))
            daemon.wait_for(lambda: ground.is_placed("second"))
            daemon.wait_for(lambda: stands(ground, ROOT_QUOTA)["used"] == "4")
