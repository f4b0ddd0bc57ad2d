"""The template of hollow nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["HOLLOW_LABEL", "NodeTemplate", "ready_condition"]

HOLLOW_LABEL: Final = "emulator.pyroclast.io/hollow"
"""Hollow kubelets run all nodes with this label, regardless of their creator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTemplate:
    """One kind of machine; zones and racks are dealt out in turn."""

    prefix: str = "hollow"
    """Nodes are called `<prefix>-<number>`."""
    cpu: str = "32"
    memory: str = "256Gi"
    pods: str = "110"
    resources: Mapping[str, str] = field(default_factory=dict)
    """Further resources: `{"nvidia.com/gpu": "8"}`."""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    zones: int = 3
    """Nodes go to `zone-0`, `zone-1`, … in turn; 0 leaves the label out."""
    nodes_per_rack: int = 0
    """Nodes go to racks of this size; 0 leaves the label out."""
    zone_label: str = "topology.kubernetes.io/zone"
    rack_label: str = "topology.kubernetes.io/rack"

    def name(self, number: int) -> str:
        """Name of a node."""
        return f"{self.prefix}-{number}"

    def manifest(self, number: int, now: str) -> dict[str, Any]:
        """The node with a number, as it registers itself at a time."""
        name = self.name(number)
        amounts = {
            "cpu": self.cpu,
            "memory": self.memory,
            "pods": self.pods,
            "ephemeral-storage": "1Ti",
            **self.resources,
        }
        labels = {
            HOLLOW_LABEL: "true",
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        }
        if self.zones:
            labels[self.zone_label] = f"zone-{number % self.zones}"
        if self.nodes_per_rack:
            labels[self.rack_label] = f"rack-{number // self.nodes_per_rack}"
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {**labels, **self.labels}},
            "spec": {"taints": [dict(taint) for taint in self.taints]} if self.taints else {},
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "phase": "Running",
                "conditions": [ready_condition(now, since=now)],
                "addresses": [
                    {"type": "InternalIP", "address": address(number)},
                    {"type": "Hostname", "address": name},
                ],
                "nodeInfo": {
                    "architecture": "amd64",
                    "bootID": "",
                    "containerRuntimeVersion": "hollow://1",
                    "kernelVersion": "",
                    "kubeProxyVersion": "",
                    "kubeletVersion": "v1.36.1",
                    "machineID": "",
                    "operatingSystem": "linux",
                    "osImage": "hollow",
                    "systemUUID": "",
                },
            },
        }


def ready_condition(now: str, *, since: str | None = None) -> dict[str, str]:
    """The condition of a node that is alive; with `since` when it became so."""
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "hollow node is ready",
        "lastHeartbeatTime": now,
    }
    return condition | ({"lastTransitionTime": since} if since else {})


def address(number: int) -> str:
    """An address of its own for each node."""
    return f"172.{16 + (number >> 16) % 16}.{(number >> 8) & 255}.{number & 255}"
