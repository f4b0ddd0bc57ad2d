"""Koordinator's network topology for tests: the cluster's layers, and what gangs ask of them."""

import json
from typing import Any

from pyroclast.model.gangs.gathering import GATHER_SPEC

__all__ = ["gathered", "network_topology", "network_topology_definition"]


def network_topology(*layers: dict[str, Any]) -> dict[str, Any]:
    """The ClusterNetworkTopology that counts; by default of spines and blocks."""
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {
            "networkTopologySpec": list(layers)
            or [
                {"topologyLayer": "SpineLayer", "labelKey": ["net/spine"]},
                {"topologyLayer": "BlockLayer", "parentTopologyLayer": "SpineLayer", "labelKey": ["net/block"]},
                {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "BlockLayer"},
            ]
        },
    }


def gathered(must: str = "", **multiples: int) -> dict[str, str]:
    """Annotations of a gang that must be in one domain of a layer, with multiples by layer."""
    strategies: list[dict[str, Any]] = [{"layer": must, "strategy": "MustGather"}] if must else []
    for layer, count in multiples.items():
        strategies.append({"layer": layer, "strategy": "PreferGather", "podCountMultiple": count})
    return {GATHER_SPEC: json.dumps({"gatherStrategy": strategies})}


def network_topology_definition() -> dict[str, Any]:
    """The kind as Koordinator defines it, in short."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusternetworktopologies.scheduling.koordinator.sh"},
        "spec": {
            "group": "scheduling.koordinator.sh",
            "scope": "Cluster",
            "names": {
                "plural": "clusternetworktopologies",
                "singular": "clusternetworktopology",
                "kind": "ClusterNetworkTopology",
                "listKind": "ClusterNetworkTopologyList",
            },
            "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": schema}],
        },
    }
