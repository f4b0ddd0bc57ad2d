"""Nodes as controllers see them: labels, what they offer, whether they take pods; the rest changes often."""

from typing import Final

from pyroclast.kube.resources import Resource
from pyroclast.model.wire.base import EMPTY, ObjectMeta, ResourceList, Wire

__all__ = ["NODES", "Node", "NodeSpec", "NodeStatus"]


class NodeSpec(Wire, frozen=True, kw_only=True):
    """What people say of a node."""

    unschedulable: bool = False
    """Whether it is cordoned."""


class NodeCondition(Wire, frozen=True, kw_only=True):
    """One thing that is true of a node, or not."""

    type: str = ""
    status: str = ""


class NodeStatus(Wire, frozen=True, kw_only=True):
    """What a node says of itself."""

    allocatable: ResourceList = EMPTY
    conditions: tuple[NodeCondition, ...] = ()


class Node(Wire, frozen=True, kw_only=True):
    """A node."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def takes_pods(self) -> bool:
        """Whether it is ready and not cordoned."""
        is_ready = any(each.type == "Ready" and each.status == "True" for each in self.status.conditions)
        return is_ready and not self.spec.unschedulable


NODES: Final = Resource(version="v1", plural="nodes", kind="Node", struct=Node, is_namespaced=False)
