"""What a plugin of the plain scheduler can say; where it does not say otherwise, nothing."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from tests.differential.cluster import Cluster, Group, Node, Pod

Key = tuple[Any, ...]
Rule = Callable[[Pod, list[Pod]], list[Pod]]


class Policy:
    """One plugin in one cycle."""

    name: ClassVar[str]

    def __init__(self, cluster: Cluster, now: float, arguments: Mapping[str, Any], last: float | None = None) -> None:
        self.cluster = cluster
        self.now = now
        self.arguments = arguments
        self.last = last
        """When it last acted, where it acts from time to time; None for never."""

    # Amounts

    def takes(self, _pod: Pod) -> bool:
        """Whether a pod may have what it asks for, wherever it is placed."""
        return True

    # Places

    def permits(self, _pod: Pod, _node: Node) -> bool:
        """Whether a node may take a pod now."""
        return True

    def could_permit(self, pod: Pod, node: Node) -> bool:
        """Whether a node might take a pod if others were evicted."""
        return self.permits(pod, node)

    def gives(self, _pod: Pod) -> bool:
        """Whether a pod is given something on its node, and what, depends on who came before it."""
        return False

    def was_placed(self, _pod: Pod, _node: Node) -> None:
        """Take note of a pod that has its place."""

    def scores(self, _pod: Pod, _nodes: Sequence[Node]) -> Mapping[str, float]:
        """How good nodes are for a pod."""
        return {}

    # Orders

    def job_key(self, _group: Group) -> Key:
        """Which jobs go first."""
        return ()

    def pod_key(self, _pod: Pod) -> Key:
        """Which pods of a job go first; those of several jobs are not compared by it."""
        return ()

    # Jobs

    def is_complete(self, _group: Group) -> bool:
        """Whether all is there that a job needs to be looked at."""
        return True

    def tries_all(self, _group: Group) -> bool:
        """Whether others of a role are tried after one of it found no node."""
        return False

    def opens_gate(self, _group: Group) -> int:
        """Vote on the admission of a job."""
        return 0

    def passed(self, _group: Group) -> None:
        """Take note of a job that has passed."""

    def holds(self, _group: Group) -> int:
        """Vote on holding places of a job that is not ready."""
        return 0

    def starves(self, _group: Group) -> bool | None:
        """Whether others may be evicted for a job; None for no say."""
        return None

    # Victims

    guards: ClassVar[bool] = False
    """Whether it protects pods in every tier."""
    together: ClassVar[bool] = False
    """Whether a gang that goes whole is judged as one, for it counts how many go; else each as if it went first."""

    divides_queues: ClassVar[bool] = False
    """Whether it divides a queue among owners, from which room is taken within the queue."""

    def reclaims_within(self, _pod: Pod) -> bool:
        """Whether a pod may take room from other owners in its queue."""
        return False

    def surplus(self, _pod: Pod, victims: list[Pod]) -> list[Pod]:
        """Chosen victims of other queues that may be evicted, whichever tier chose them."""
        return victims

    def rules(self, _point: str) -> Rule | None:
        """Possible victims by plugin; None for abstention."""
        return None

    def names(self, _pods: Sequence[Pod]) -> list[Pod]:
        """Pods to evict without a preemptor."""
        return []

    def takes_gang(self, _pod: Pod) -> bool:
        """Whether the gang of a pod that it names is evicted whole if it cannot spare the pod."""
        return False

    def breaks_gang(self, _pod: Pod) -> bool:
        """Whether a pod that it names is evicted alone although its gang needs it."""
        return False

    def bound_of(self, _pod: Pod) -> str:
        """What bounds how many go with a pod that was named: each bound has a plan of its own."""
        return ""

    def may_move(self, pods: list[Pod]) -> list[Pod]:
        """Which of those that should go may."""
        return pods
