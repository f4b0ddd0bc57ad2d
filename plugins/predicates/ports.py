"""Node ports: a host port is used once per node, protocol and address; `0.0.0.0` means every address."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from pyroclast.framework.session.session import Session
from pyroclast.framework.session.usage import UsageLedger
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model import wire
from pyroclast.model.arrays import ReasonArray
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task, TaskTemplate

__all__ = ["REASONS", "HostPort", "HostPorts", "requested_ports"]

REASONS: Final = (Reason("node(s) didn't have free ports for the requested pod ports"),)

_EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - an address that pods name, nothing binds to it here


class HostPort(NamedTuple):
    """A port of a node."""

    protocol: str
    number: int
    address: str


def requested_ports(spec: wire.PodSpec) -> tuple[HostPort, ...]:
    """Return the distinct host ports of containers and sidecars."""
    sidecars = (container for container in spec.init_containers if container.restart_policy == "Always")
    ports = (port for container in (*spec.containers, *sidecars) for port in container.ports if port.host_port > 0)
    distinct = {HostPort(port.protocol or "TCP", port.host_port, port.host_ip or _EVERY_ADDRESS) for port in ports}
    return tuple(sorted(distinct))


def _are_rivals(one: HostPort, other: HostPort) -> bool:
    """Return whether two pods of one node cannot have these ports."""
    is_same = one[:2] == other[:2]
    return is_same and (_EVERY_ADDRESS in {one.address, other.address} or one.address == other.address)


class HostPorts(UsageLedger):
    """Used host ports of each node."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._reserved = session.reserved
        self._requested: dict[int, tuple[HostPort, ...]] = {}
        self._users: dict[tuple[str, int], dict[str, Counter[int]]] = {}
        """Number of pods by column, by address, by protocol and number."""

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes on which a requested port is used, shape (columns,); None if no port is requested."""
        requested = self._ports(task.template)
        if not requested:
            return None
        self.count()
        if len(columns) == 1:
            column = int(columns.index[0])
            taken = any(users[column] > 0 for port in requested for users in self._rivals(port))
            matched = self._reserved.matched_pods(task).get(column, ()) if taken else ()
            return np.array([taken and not (matched and self._is_free_without(matched, requested, column))], np.uint8)
        verdicts = np.zeros(len(self._table), dtype=np.uint8)
        for port in requested:
            for users in self._rivals(port):
                verdicts[[column for column, count in users.items() if count > 0]] = 1
        for column, matched in self._reserved.matched_pods(task).items():
            if verdicts[column] and self._is_free_without(matched, requested, column):
                verdicts[column] = 0
        return verdicts if columns.is_all else verdicts[columns.index]

    def _is_free_without(self, matched: Sequence[Task], requested: Iterable[HostPort], column: int) -> bool:
        """Return whether ports are free on a node apart from those of Reservations that a task may use."""
        reserved = [port for each in matched for port in self._ports(each.template)]
        for port in requested:
            taken = sum(users[column] for users in self._rivals(port))
            if taken > sum(_are_rivals(port, each) for each in reserved):
                return False
        return True

    def _rivals(self, port: HostPort) -> Iterator[Counter[int]]:
        """Yield the users of every port that conflicts with a port."""
        for address, users in self._users.get((port.protocol, port.number), {}).items():
            if _EVERY_ADDRESS in {address, port.address} or address == port.address:
                yield users

    def _ports(self, template: TaskTemplate) -> tuple[HostPort, ...]:
        known = self._requested.get(template.number)
        if known is None:
            known = self._requested[template.number] = requested_ports(template.spec)
        return known

    def shift(self, task: Task, column: int, sign: int) -> None:
        """Count the ports of a task."""
        for port in self._ports(task.template):
            by_address = self._users.setdefault((port.protocol, port.number), {})
            by_address.setdefault(port.address, Counter())[column] += sign
