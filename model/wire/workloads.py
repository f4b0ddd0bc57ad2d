"""Other groups, each with little to read: apps, policy, networking, scheduling, coordination."""

from collections.abc import Mapping

from pyroclast.model.api.meta import EMPTY, LabelSelector, ObjectMeta, Wire

__all__ = [
    "IntOrString",
    "Lease",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "PodDisruptionBudgetSpec",
    "PodDisruptionBudgetStatus",
    "PriorityClass",
    "ReplicaSet",
    "ReplicaSetSpec",
    "StatefulSet",
    "StatefulSetSpec",
]

IntOrString = int | str
"""A count, or a percentage as text."""


class ReplicaSetSpec(Wire, frozen=True, kw_only=True):
    """Selector and number of the pods of a replica set."""

    selector: LabelSelector | None = None
    replicas: int | None = None


class ReplicaSet(Wire, frozen=True, kw_only=True):
    """A replica set."""

    metadata: ObjectMeta
    spec: ReplicaSetSpec = ReplicaSetSpec()


class StatefulSetSpec(Wire, frozen=True, kw_only=True):
    """Selector and number of the pods of a stateful set."""

    selector: LabelSelector | None = None
    replicas: int | None = None


class StatefulSet(Wire, frozen=True, kw_only=True):
    """A stateful set."""

    metadata: ObjectMeta
    spec: StatefulSetSpec = StatefulSetSpec()


class PodDisruptionBudgetSpec(Wire, frozen=True, kw_only=True):
    """Number of selected pods that must stay available."""

    min_available: IntOrString | None = None
    max_unavailable: IntOrString | None = None
    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(Wire, frozen=True, kw_only=True):
    """Number of pods that may be evicted now."""

    disruptions_allowed: int = 0
    disrupted_pods: Mapping[str, str] = EMPTY
    observed_generation: int = 0


class PodDisruptionBudget(Wire, frozen=True, kw_only=True):
    """A disruption budget."""

    metadata: ObjectMeta
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class NetworkPolicy(Wire, frozen=True, kw_only=True):
    """A network policy; its rules are not read."""

    metadata: ObjectMeta


class PriorityClass(Wire, frozen=True, kw_only=True):
    """A named priority."""

    metadata: ObjectMeta
    value: int = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"
    description: str = ""


class Lease(Wire, frozen=True, kw_only=True):
    """A lease; its holder reads and writes the rest as plain JSON."""

    metadata: ObjectMeta
