"""The component configuration with the plugins, weights and arguments that Koordinator ships, and small ones."""

from typing import Any

__all__ = ["SHIPPED", "enabled", "file_of"]


def file_of(**parts: Any) -> dict[str, Any]:
    """Return a file with one profile."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [parts],
    }


def enabled(point: str, name: str, **more: Any) -> dict[str, Any]:
    """Return the part of a profile that enables a plugin at a point."""
    return {"plugins": {point: {"enabled": [{"name": name, **more}]}}}


def _point(*names: str, only: bool = False, **weights: int) -> dict[str, Any]:
    listed = [{"name": name, **({"weight": weights[name]} if name in weights else {})} for name in (*names, *weights)]
    return {"enabled": listed, **({"disabled": [{"name": "*"}]} if only else {})}


def _config(name: str, **args: Any) -> dict[str, Any]:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": f"{name}Args"}
    return {"name": name, "args": {**head, **args}}


_FIT = ("cpu", "memory", "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory")

SHIPPED: dict[str, Any] = {
    **file_of(
        schedulerName="koord-scheduler",
        pluginConfig=[
            _config(
                "NodeResourcesFit",
                scoringStrategy={
                    "type": "LeastAllocated",
                    "resources": [{"name": name, "weight": 1} for name in _FIT],
                },
            ),
            _config(
                "LoadAwareScheduling",
                filterExpiredNodeMetrics=False,
                nodeMetricExpirationSeconds=300,
                resourceWeights={"cpu": 1, "memory": 1},
                usageThresholds={"cpu": 0, "memory": 0},
                estimatedScalingFactors={"cpu": 85, "memory": 70},
            ),
            _config("ElasticQuota", quotaGroupNamespace="koordinator-system"),
        ],
        plugins={
            "preEnqueue": _point("Coscheduling"),
            "queueSort": _point("PrioritySort", only=True),
            "preFilter": _point(
                "SchedulingHint", "Reservation", "NodeNUMAResource", "DeviceShare", "Coscheduling", "ElasticQuota"
            ),
            "filter": _point("LoadAwareScheduling", "NodeNUMAResource", "DeviceShare", "Reservation"),
            "postFilter": _point("Reservation", "Coscheduling", "ElasticQuota", "DefaultPreemption", only=True),
            "preScore": _point("Reservation", "Coscheduling"),
            "score": _point(LoadAwareScheduling=1, NodeNUMAResource=1, DeviceShare=1, Reservation=5000, Coscheduling=1),
            "reserve": _point(
                "LoadAwareScheduling", "NodeNUMAResource", "DeviceShare", "Reservation", "Coscheduling", "ElasticQuota"
            ),
            "permit": _point("Coscheduling"),
            "preBind": _point("NodeNUMAResource", "DeviceShare", "Reservation", "Coscheduling", "DefaultPreBind"),
            "bind": _point("Reservation", "DefaultBinder", only=True),
            "postBind": _point("Coscheduling"),
        },
    ),
    "leaderElection": {
        "leaderElect": True,
        "resourceLock": "leases",
        "resourceName": "koord-scheduler",
        "resourceNamespace": "koordinator-system",
    },
}
"""Koordinator's `config/manager/scheduler-config.yaml`, by its values."""
