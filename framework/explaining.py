"""Explaining: why no node takes a task, as counts of nodes by the first rule that refuses them.

The order of rules is that of the search: room first (free or being released), then predicates in the order of the
configuration. Every node is looked at; nothing is sampled.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from framework.points import Registered
from model.arrays import BoolArray, IntArray
from model.refusals import Reason, Refusal
from model.requests import ATTACHABLE_VOLUMES
from model.resources import MILLI
from model.tasks import Task

if TYPE_CHECKING:
    from framework.node_questions import NodeQuestions

__all__ = ["NO_NODE_FITS", "TOO_MANY_VOLUMES", "explain"]

NO_NODE_FITS = "NoNodeFits"
"""Reason of a refusal by nodes."""

TOO_MANY_VOLUMES = "node(s) exceed max volume count"
"""Kubernetes' text where a driver can attach no further volume."""

_ROOM = "resources"
"""Whose rule room is: no plugin's."""


def explain(session: "NodeQuestions", task: Task, domain: BoolArray | None) -> Refusal:
    """Count the nodes of a domain (all where None) by the first rule that refuses a task."""
    everywhere = np.ones(len(session.nodes), dtype=np.bool_) if domain is None else domain
    tally = _Tally(session, task, np.flatnonzero(everywhere))
    if session.snapshot.shard_mode == "hard":
        outside = ~session.nodes.table.in_shard[tally.open]
        tally.refuse(outside, Reason("node(s) not in this scheduler's shard", resolvable=False), "shard")
    tally.ask_room()
    for each in session.node_functions.predicates:
        if tally.open.size:
            tally.ask(each)
    return tally.refusal(int(everywhere.sum()))


def _shortage(resource: str) -> str:
    """Return what nodes without room for a resource are counted under; of volumes, in Kubernetes' words."""
    return TOO_MANY_VOLUMES if resource.startswith(ATTACHABLE_VOLUMES) else f"Insufficient {resource}"


class _Tally:
    """Nodes not yet refused, and the counts of those that were."""

    def __init__(self, session: "NodeQuestions", task: Task, open_columns: IntArray) -> None:
        self._session = session
        self._task = task
        self.open = open_columns
        self._counts: Counter[tuple[str, str, bool]] = Counter()
        self._most: dict[int, int] = {}
        """By row the most room of a node that has too little of it."""
        self._told: dict[str, tuple[int, int]] = {}
        """What reasons tell of amounts."""

    def refuse(self, mask: BoolArray, reason: Reason, plugin: str) -> None:
        """Count and close the open nodes of a mask, shape (open,)."""
        refused = int(mask.sum())
        if refused:
            self._counts[reason.text, plugin, reason.resolvable] += refused
            self._told |= reason.amounts
            self.open = self.open[~mask]

    def ask_room(self) -> None:
        """Refuse nodes without room, under the first resource that is short."""
        needs = self._session.nodes.needs(self._task.template)
        for row in needs.checked.tolist():
            room = self._session.nodes.columns(self.open).future_idle[row]
            is_short = needs.request[row] > room
            if is_short.any():
                self._most[row] = max(int(room[is_short].max()), 0)
            self.refuse(is_short, Reason(_shortage(self._session.resources.names[row])), _ROOM)

    def ask(self, each: Registered[Any]) -> None:
        """Refuse nodes that a predicate refuses."""
        if each.locality is None:
            self._ask_pairs(each)
        elif self._session.cares(each, self._task):
            columns = self._session.nodes.columns(self.open)
            verdicts = self._session.ask_verdicts(each, self._task, columns)
            if verdicts is None:
                return
            open_columns, reasons = self.open, self._session.reasons_of(each, self._task)
            for verdict in np.unique(verdicts[verdicts > 0]).tolist():
                failed = verdict > len(reasons)
                reason = Reason(f"plugin {each.plugin} failed") if failed else reasons[verdict - 1]
                still = np.isin(self.open, open_columns[verdicts == verdict])
                self.refuse(still, reason, each.plugin)

    def _ask_pairs(self, each: Registered[Any]) -> None:
        columns = self.open.tolist()
        for column, reason in zip(columns, self._session.ask_pairs(each, self._task, columns), strict=True):
            if reason is not None:
                self.refuse(self.open == column, reason, each.plugin)

    def refusal(self, nodes: int) -> Refusal:
        """Put the counts into words."""
        ranked = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        reasons = ", ".join(sorted(f"{count} {text}" for (text, _, _), count in ranked))
        message = f"0/{nodes} nodes are unavailable" + (f": {reasons}." if reasons else "")
        return Refusal(
            plugin=ranked[0][0][1] if ranked else _ROOM,
            reason=NO_NODE_FITS,
            message=message,
            counts={text: count for (text, _, _), count in ranked},
            resolvable=any(resolvable for (_, _, resolvable), _ in ranked),
            amounts=self._amounts(),
        )

    def _amounts(self) -> dict[str, tuple[int, int]]:
        """Return what reasons tell; and what is asked for of what is short, and the most that is left, thousandths."""
        space, request = self._session.resources, self._session.nodes.needs(self._task.template).request
        return self._told | {
            space.names[row]: (int(request[row]) * MILLI // space.scales[row], most * MILLI // space.scales[row])
            for row, most in self._most.items()
        }
