"""Nodes as this controller sees them: name and labels; the rest, which is much and changes often, is left out."""

from typing import Final

from kube.resources import Resource
from model.wire.base import ObjectMeta, Wire

__all__ = ["NODES", "Node"]


class Node(Wire, frozen=True, kw_only=True):
    """A node."""

    metadata: ObjectMeta


NODES: Final = Resource(version="v1", plural="nodes", kind="Node", struct=Node, is_namespaced=False)
