"""NodeMetrics in a few words, for tests of any kind."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

__all__ = ["node_metric", "node_metric_definition", "pod_metric"]

Object = Mapping[str, Any]


def node_metric(
    name: str,
    used: Mapping[str, Any] | None,
    *,
    at: float | str | None,
    pods: Sequence[Object] = (),
    system: Mapping[str, Any] | None = None,
    statistics: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None,
    interval: int | None = None,
) -> Object:
    """A NodeMetric as an agent writes it.

    Args:
        name: Name of the node.
        used: What all of it uses; None where nothing was measured.
        at: When, seconds since 1970, or what stands in place of a time; None for never.
        pods: What each pod uses, by `pod_metric`.
        system: What runs outside of pods.
        statistics: Amounts by period and kind.
        interval: Seconds between reports.
    """
    moment = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(at, float | int) else at
    info = {
        "nodeUsage": {"resources": used},
        "systemUsage": {"resources": system or {}},
        "aggregatedNodeUsages": [
            {"duration": period, "usage": {kind: {"resources": amounts} for kind, amounts in by_kind.items()}}
            for period, by_kind in (statistics or {}).items()
        ],
    }
    return {
        "apiVersion": "slo.koordinator.sh/v1alpha1",
        "kind": "NodeMetric",
        "metadata": {"name": name},
        "spec": {"metricCollectPolicy": {} if interval is None else {"reportIntervalSeconds": interval}},
        "status": {
            **({} if moment is None else {"updateTime": moment}),
            **({} if used is None else {"nodeMetric": info}),
            "podsMetric": list(pods),
        },
    }


def pod_metric(name: str, used: Mapping[str, Any], *, namespace: str = "ns", priority: str = "") -> Object:
    """What a pod uses, and the class that its agent takes it for."""
    return {"name": name, "namespace": namespace, "podUsage": {"resources": used}, "priority": priority}


def node_metric_definition() -> Object:
    """The kind as Koordinator defines it, in short."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "nodemetrics.slo.koordinator.sh"},
        "spec": {
            "group": "slo.koordinator.sh",
            "scope": "Cluster",
            "names": {
                "plural": "nodemetrics",
                "singular": "nodemetric",
                "kind": "NodeMetric",
                "listKind": "NodeMetricList",
            },
            "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": schema}],
        },
    }
