"""Explaining: why no node takes a task, as counts of nodes by the first rule that refuses them.

Permanent causes come first: what no eviction changes, such as labels, taints, and nodes that are too small even when
empty. Room that is free or being released comes next, then what other pods cause. Among themselves predicates stand in
the order of the configuration. Every node is checked. There is no sampling.
"""

from collections import Counter
from typing import Any

import numpy as np

from pyroclast.framework.candidates.node_answers import NodeAnswers
from pyroclast.framework.extension.contract import Locality, Registered
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.framework.state.queue_refusals import quantities
from pyroclast.model.arrays import BoolArray, IntArray, ReasonArray
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.requests import CSI_VOLUMES
from pyroclast.model.reservations.use import NO_USE
from pyroclast.model.resources import MILLI
from pyroclast.model.tasks import Task

__all__ = ["NO_NODE_FITS", "TOO_MANY_VOLUMES", "Tally", "explain", "shortage"]

NO_NODE_FITS = "NoNodeFits"
"""Reason of a refusal by nodes."""

TOO_MANY_VOLUMES = "node(s) exceed max volume count"
"""Kubernetes' text where a driver can attach no further volume."""

_PERMANENT = frozenset({Locality.FACTS, Locality.GLOBAL})
"""Localities of functions that refuse nodes for causes that no eviction changes."""

_RESERVATION = "reservation"
"""Name of the rule for Reservations, which is that of their plugin."""
_NO_SUITABLE_POD = Reason("node(s) no pod(s) to meet the pre-allocation requirements")
_MOST_NAMED = 5
"""Reservations that a message names."""
_ROOM = "resources"
"""Name of the rule for node resources. It belongs to no plugin."""


def explain(answers: NodeAnswers, task: Task, domain: BoolArray | None) -> Refusal:
    """Count the nodes of a domain (all where None) by the first rule that refuses a task."""
    everywhere = np.ones(len(answers.nodes), dtype=np.bool_) if domain is None else domain
    tally = Tally(answers, task, np.flatnonzero(everywhere))
    tally.ask_all(is_everywhere=domain is None)
    return tally.refusal(int(everywhere.sum()))


def shortage(resource: str) -> str:
    """Return the text under which nodes without capacity for a resource, or without a CSI driver, are counted."""
    driver = resource.removeprefix(CSI_VOLUMES)
    return f"Insufficient {resource}" if driver == resource else f"node(s) did not have the CSI driver {driver}"


def _named(resource: str) -> str:
    driver = resource.removeprefix(CSI_VOLUMES)
    return resource if driver == resource else f"the CSI driver {driver}"


class Tally:
    """Nodes not yet refused, and the counts of those that were."""

    def __init__(self, answers: NodeAnswers, task: Task, open_columns: IntArray) -> None:
        self._answers = answers
        self._task = task
        self.open = open_columns
        self._counts: Counter[tuple[str, str, bool]] = Counter()
        self._most: dict[int, int] = {}
        """Largest free amount among the nodes that have too little, by resource row."""
        self._reported_amounts: dict[str, tuple[int, int]] = {}
        """Amounts that reasons report."""
        self._columns: NodeColumns | None = None
        """The open nodes, as long as they are the same."""
        self._verdicts: dict[Registered[Any], tuple[IntArray, ReasonArray | None]] = {}
        """Answers of predicates over arrays, and the columns that they cover."""
        self._shortages = ""
        """A sentence about the Reservations that have no room."""
        self._largest = ""
        """A sentence about what the largest nodes have of resources that none has enough of."""

    def ask_all(self, *, is_everywhere: bool) -> None:
        """Ask all rules in their order, until no node is left.

        Args:
            is_everywhere: Whether the nodes are all nodes, so that the largest of them is worth a sentence.
        """
        answers = self._answers
        if answers.snapshot.shard_mode == "hard":
            outside = ~answers.nodes.table.in_shard[self.open]
            self.refuse(outside, Reason("node(s) not in this scheduler's shard", resolvable=False), "shard")
        self.ask_for_permanent()
        permitted = self.open
        self.ask_size()
        if is_everywhere and permitted.size and not self.open.size:
            self.note_largest(permitted)
        self.ask_room()
        for each in answers.functions.predicates:
            if self.open.size:
                self.ask(each)

    def refuse(self, mask: BoolArray, reason: Reason, plugin: str) -> None:
        """Count and close the open nodes of a mask, shape (open,)."""
        refused = int(mask.sum())
        if refused:
            self._counts[reason.text, plugin, reason.resolvable] += refused
            self._reported_amounts |= reason.amounts
            self.open = self.open[~mask]
            self._columns = None

    def columns(self) -> NodeColumns:
        """Return the open nodes."""
        if self._columns is None:
            nodes = self._answers.nodes
            columns = nodes.columns() if self.open.size == len(nodes) else nodes.columns(self.open)
            self._columns = self._answers.reserved.restored(self._task, columns)
        return self._columns

    def ask_for_permanent(self) -> None:
        """Refuse nodes for causes that no eviction changes; what looks at amounts or pods of a node is asked later."""
        for each in self._answers.functions.predicates:
            if self.open.size and each.locality in _PERMANENT:
                self._ask_arrays(each, is_permanent=True)

    def ask_size(self) -> None:
        """Refuse nodes that are too small even when empty, under the first resource that is short."""
        self._ask_amounts(self._answers.nodes.table.allocatable[:, self.open], resolvable=False)

    def ask_room(self) -> None:
        """Refuse nodes without room, under the first resource that is short."""
        self._ask_reservations()
        self._ask_amounts(self.columns().future_idle, resolvable=True)
        self._ask_takeovers()

    def _ask_takeovers(self) -> None:
        """Refuse nodes without a suitable pod, for a Reservation that must take over one (R34)."""
        reserved = self._answers.reserved
        use = reserved.use_of(self._task) if reserved else NO_USE
        if use.takeover is None or not use.takeover.is_required or not self.open.size:
            return
        refused = np.zeros(self.open.size, dtype=np.bool_)
        columns = self._answers.nodes.columns(self.open)
        for position, _, later in reserved.fits(self._task, use, reserved.columns_of(use), columns):
            refused[position] = not later
        self.refuse(refused, _NO_SUITABLE_POD, _RESERVATION)

    def _ask_reservations(self) -> None:
        """Refuse nodes whose Reservations have no room, for tasks that must use one; each with its numbers (D4)."""
        reserved = self._answers.reserved
        use = reserved.use_of(self._task) if reserved else NO_USE
        if not use.is_required or use.takes_any:
            return
        rooms, shortages = reserved.columns_of(use), []
        for column in self.open.tolist():
            there = rooms.get(column, [])
            lacking = [(room, reserved.lacking(self._task, room, in_future=True)) for room in there]
            if lacking and all(why for _, why in lacking):
                kind = lacking[0][1].partition(" (")[0]
                self.refuse(self.open == column, Reason(f"Reservation(s) {kind}"), _RESERVATION)
                shortages += [f"{room.name}: {why}" for room, why in lacking]
        if shortages:
            more = f", and {len(shortages) - _MOST_NAMED} more" if len(shortages) > _MOST_NAMED else ""
            self._shortages = f" Of the reservations: {', '.join(shortages[:_MOST_NAMED])}{more}."

    def _ask_amounts(self, amounts: IntArray, *, resolvable: bool) -> None:
        needs = self._answers.nodes.needs(self._task.template)
        open_columns = self.open
        for row in needs.checked.tolist():
            is_same = self.open.size == open_columns.size
            there = amounts[row] if is_same else amounts[row, np.searchsorted(open_columns, self.open)]
            is_short = needs.request[row] > there
            if is_short.any():
                left = self.columns().future_idle[row][is_short]
                self._most[row] = max(int(left.max()), 0, self._most.get(row, 0))
                text = shortage(self._answers.resources.names[row])
                self.refuse(is_short, Reason(text, resolvable=resolvable), _ROOM)

    def note_largest(self, permitted: IntArray) -> None:
        """Note what the largest node offers of the resources that none has enough of.

        If a node that is large enough was refused before, as one that is cordoned, only the permitted nodes are meant.
        """
        space, needs = self._answers.resources, self._answers.nodes.needs(self._task.template)
        offered, rows = self._answers.nodes.table.allocatable, needs.checked
        is_never = not (needs.request[rows, None] <= offered[rows]).all(axis=0).any()
        largest = (offered if is_never else offered[:, permitted]).max(axis=1)
        short = [row for row in rows.tolist() if needs.request[row] > largest[row]]
        the_largest, none = "the largest node", "no node"
        if not is_never:
            the_largest, none = "the largest of the other nodes", "none of the other nodes"
        words = [
            f"{the_largest} has {quantities(space, largest.tolist(), [row])}"
            if largest[row] > 0
            else f"{none} has {_named(space.names[row])}"
            for row in short
        ]
        cause = ", ".join(words) or f"{none} has enough of all resources together"
        self._largest = f" It can never run: {cause}." if is_never else f" {cause[0].upper()}{cause[1:]}."

    def ask(self, each: Registered[Any]) -> None:
        """Refuse nodes that a predicate refuses."""
        if each.locality is None:
            self._ask_pairs(each)
        else:
            self._ask_arrays(each, is_permanent=False)

    def _ask_arrays(self, each: Registered[Any], *, is_permanent: bool) -> None:
        """Refuse nodes that a predicate over arrays refuses; of permanent causes alone, or for all that are left."""
        if not self._answers.cares(each, self._task):
            return
        if each not in self._verdicts:
            answer = self._answers.ask_verdicts(each, self._task, self.columns())
            self._verdicts[each] = (self.open, answer)
        asked, verdicts = self._verdicts[each]
        if verdicts is None:
            return
        reasons = self._answers.reasons_of(each, self._task)
        for verdict in np.unique(verdicts[verdicts > 0]).tolist():
            failed = verdict > len(reasons)
            reason = Reason(f"plugin {each.plugin} failed") if failed else reasons[verdict - 1]
            if not (is_permanent and reason.resolvable):
                mask = verdicts == verdict
                is_same = self.open.size == asked.size
                self.refuse(mask if is_same else np.isin(self.open, asked[mask]), reason, each.plugin)

    def _ask_pairs(self, each: Registered[Any]) -> None:
        columns = self.open.tolist()
        for column, reason in zip(columns, self._answers.ask_pairs(each, self._task, columns), strict=True):
            if reason is not None:
                self.refuse(self.open == column, reason, each.plugin)

    def refusal(self, nodes: int) -> Refusal:
        """Build a refusal message from the counts."""
        ranked = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        counts: Counter[str] = Counter()
        for (text, _, _), count in ranked:
            counts[text] += count
        reasons = ", ".join(sorted(f"{count} {text}" for text, count in counts.items()))
        message = f"0/{nodes} nodes are unavailable" + (f": {reasons}." if reasons else "")
        message += self._largest + self._shortages
        return Refusal(
            plugin=ranked[0][0][1] if ranked else _ROOM,
            reason=NO_NODE_FITS,
            message=message,
            counts=dict(counts.most_common()),
            resolvable=any(resolvable for (_, _, resolvable), _ in ranked),
            amounts=self._amounts(),
        )

    def _amounts(self) -> dict[str, tuple[int, int]]:
        """Return the amounts that reasons report: for each short resource, the request and the most left."""
        space, request = self._answers.resources, self._answers.nodes.needs(self._task.template).request
        return self._reported_amounts | {
            space.names[row]: (int(request[row]) * MILLI // space.scales[row], most * MILLI // space.scales[row])
            for row, most in self._most.items()
        }
