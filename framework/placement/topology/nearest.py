"""The nearest domain: the one that holds most of some tasks, and what keeps the others out of it.

A permanent cause comes first: no domain that is allowed could hold the tasks even if all its nodes were empty. Then the
nodes of the largest domain are counted by what keeps a further task from them, as nodes of the cluster are elsewhere.
"""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pyroclast.framework.candidates.explaining import shortage
from pyroclast.framework.placement.topology.capacity import RoomInDomains
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.session_values import ScratchKey
from pyroclast.framework.state.domains import Domains
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.tasks import Task

__all__ = ["Nearest"]

_MOST_EXPLAINED: Final = 16
"""Unlike explanations for one namespace in a cycle; further messages have the numbers of tasks alone."""
_MOST_IN_ALL: Final = 512
"""The same for all namespaces."""
_EXPLAINED: Final = ScratchKey("explanations of domains")
_ALL_NODES: Final = "all nodes"


class Nearest:
    """Largest number of tasks that domains hold, tier by tier."""

    def __init__(
        self,
        domains: Domains,
        limit: int | None,
        held: int,
        room: RoomInDomains,
        needed: int,
        *,
        label: str = "",
        layers: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        """Look at the domains that are allowed.

        Args:
            domains: All domains.
            limit: The highest tier; all if None.
            held: The innermost domain around what is placed; negative if nothing is.
            room: Counts how many of the tasks each takes.
            needed: How many must find places.
            label: The label whose values are the domains; empty for HyperNodes.
            layers: Names of tiers that messages use.
        """
        tree = domains.topology
        highest = tree.tiers[-1] if limit is None else limit
        tasks = f"{needed} task{'s' if needed > 1 else ''}"
        self._domains, self._room, self._needed, self._label = domains, room, needed, label
        self._allowed = allowed = domains.allowed(limit=highest, held=held, root=tree.root)
        self._tiers = {domain.tier: layers.get(domain.tier, f"tier {domain.tier}") for domain in tree.domains}
        where, are_many = f"no domain of {self._tiers.get(highest, f'tier {highest}')} or below", False
        if highest >= tree.tiers[-1]:
            where = "no domain, nor all nodes together,"
        if label:
            where, are_many = f"the nodes of no value of label {label}", True
        what = f"{where} fit{'' if are_many else 's'} {tasks}"
        self._never = f"{where} could fit {tasks} even if empty"
        counts = room.counts(allowed).tolist()
        best: dict[int, tuple[int, str]] = {}
        for number, count in zip(allowed, counts, strict=True):
            tier = tree.domains[number].tier
            if tier not in best or count > best[tier][0]:
                best[tier] = count, self._name(number)
        fits = ", ".join(
            f"{name} fit{'' if name == _ALL_NODES else 's'} {count}" for _, (count, name) in sorted(best.items())
        )
        around = f" around {tree.domains[held].name}, where it runs" if held >= 0 else ""
        self.most = max(counts, default=-1)
        """Number of tasks that the largest domain holds; negative if there is none."""
        self._counts = counts
        self._words = f"{what}: best {fits}" if allowed else f"{what}: there is none{around}"
        self.words_by_room = f"{what}, although by capacity alone {fits}"

    def _name(self, number: int) -> str:
        tree = self._domains.topology
        if number == tree.root:
            return _ALL_NODES
        domain = tree.domains[number]
        return domain.name if self._label else f"{domain.name} ({self._tiers[domain.tier]})"

    def why(self, session: Session, namespace: str) -> str:
        """Return why no domain holds the tasks of a job in a namespace, where all domains hold fewer."""
        if not self._allowed:
            return self._words
        if_empty = list(map(max, self._counts, self._room.counts_if_empty(self._allowed).tolist()))
        largest = max(range(len(self._allowed)), key=lambda each: (if_empty[each], -each))
        # pods that are not there yet, or that are gated, may fit
        is_never = if_empty[largest] < min(self._needed, self._room.size)
        if is_never:
            number = self._allowed[largest]
            fits = f"fit{'' if number == self._domains.topology.root else 's'} {if_empty[largest]}"
            words = f"{self._never}: largest {self._name(number)} {fits}"
        else:
            # among equals the one that would hold most shows what can be changed
            nearest = max(range(len(self._allowed)), key=lambda each: (self._counts[each], if_empty[each], -each))
            number, words = self._allowed[nearest], self._words
        reasons = self._reasons(session, namespace, number, if_empty=is_never)
        if not reasons:
            return words
        is_root = number == self._domains.topology.root
        nodes = "nodes" if is_root else f"nodes of {self._domains.topology.domains[number].name}"
        return f"{words}; 0/{self._domains.topology.domains[number].columns.size} {nodes} take more: {reasons}"

    def _reasons(self, session: Session, namespace: str, number: int, *, if_empty: bool) -> str:
        """Count the nodes of a domain by what keeps a further task from them; empty beyond the bounds of a cycle."""
        short = self._room.first_short(number, if_empty=if_empty)
        if short is None:
            return ""
        task, fits = short
        there = self._domains.mask(number)
        known: _Explained = session.scratch.get(_EXPLAINED) or session.scratch.setdefault(_EXPLAINED, _Explained())
        # what the nodes hold follows from these: where not all tasks fit, their number limits no node
        kind = len(session.nodes.log), session.candidates.number(task), if_empty, there.tobytes()
        found = known.reasons.get(kind)
        if found is None:
            if known.asked[namespace] >= _MOST_EXPLAINED or known.asked.total() >= _MOST_IN_ALL:
                return ""
            known.asked[namespace] += 1
            found = known.reasons[kind] = _count(session, task, fits, there, if_empty=if_empty)
        return found


class _Explained:
    """Explanations of one session."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        """Explanations by namespace."""
        self.reasons: dict[tuple[object, ...], str] = {}


def _count(session: Session, task: Task, fits: IntArray, there: BoolArray, *, if_empty: bool) -> str:
    """Count nodes by what keeps one more task like another from them, after as many as they hold.

    Args:
        session: The session.
        task: The task.
        fits: How many tasks like it each node holds, shape (N,).
        there: The nodes that count, shape (N,).
        if_empty: Whether other pods count for nothing.
    """
    refused = there & (fits == 0)
    counts: Counter[str] = Counter()
    if refused.any():
        refusal = session.candidates.explain(task, refused)
        if not refusal.counts:
            return refusal.message
        counts.update(refusal.counts)
    needs = session.nodes.needs(task.template)
    room = session.nodes.table.allocatable if if_empty else session.reserved.future_room(task)
    open_nodes = there & (fits > 0)
    for row in needs.checked.tolist():
        is_short = open_nodes & (room[row] - fits * needs.request[row] < needs.request[row])
        counts[shortage(session.resources.names[row])] += int(is_short.sum())
        open_nodes &= ~is_short
    counts["node(s) take only one of its pods"] += int(open_nodes.sum())
    return ", ".join(sorted(f"{count} {text}" for text, count in counts.items() if count))
