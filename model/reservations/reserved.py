"""Reserved capacity: what a Reservation keeps on its node, and which pods use it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.reservations.reading import ReservationRules
from pyroclast.model.resources import MILLI, PODS, Amounts
from pyroclast.model.sealed import SealedDict

__all__ = ["ReservedCapacity", "counted_for", "sum_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReservedCapacity:
    """Capacity of one Reservation that is Available."""

    id: TaskId
    """UID of the Reservation, which is the id of the task that stands for it."""
    rules: ReservationRules
    amounts: Amounts
    """Reserved amounts, thousandths by name of a resource row."""
    users: Mapping[TaskId, Amounts]
    """What counts of the requests of the pods that use it, thousandths by reserved name, by task, in the order of
    their ids."""
    leaving: frozenset[TaskId] = frozenset()
    """Those of the pods whose deletion has begun."""
    counted: Amounts = field(default_factory=SealedDict)
    """Requests that count on the node already, thousandths by name: those of a pod in operating mode."""

    @property
    def name(self) -> str:
        """Name of the Reservation."""
        return self.rules.name

    @property
    def node(self) -> NodeName:
        """Node of the capacity."""
        return self.rules.node

    @property
    def reserved(self) -> Amounts:
        """Reserved amounts; at least one pod."""
        return {PODS: MILLI, **self.amounts}

    @property
    def is_spent(self) -> bool:
        """Whether it may be used once, and a pod uses it."""
        return self.rules.object.spec.allocate_once and bool(self.users)

    def rest(self, *, after_leaving: bool = False) -> dict[str, int]:
        """Return the reserved amounts that no pod uses, thousandths by name; at least 0.

        Args:
            after_leaving: Whether pods whose deletion has begun are gone. A Reservation that may be used once gets
                nothing back.
        """
        is_returned = after_leaving and not self.rules.object.spec.allocate_once
        used = sum_of(each for task, each in self.users.items() if not (is_returned and task in self.leaving))
        return {name: max(0, amount - used.get(name, 0)) for name, amount in self.reserved.items()}

    def held(self) -> dict[str, int]:
        """Return what must be held on the node beside the pods that count there; nothing for a pod in operating mode.

        That pod counts itself, and its user counts beside it, as the kubelet counts both.
        """
        return {} if self.counted else self.rest()


def counted_for(request: Amounts, reserved: Amounts) -> Amounts:
    """Return the part of a request that counts for a Reservation: the names that it reserves, and one pod."""
    return SealedDict({name: amount for name, amount in request.items() if name in reserved or name == PODS})


def sum_of(amounts: Iterable[Amounts]) -> dict[str, int]:
    """Add amounts, thousandths by name."""
    total: dict[str, int] = {}
    for each in amounts:
        for name, amount in each.items():
            total[name] = total.get(name, 0) + amount
    return total
