"""Verdicts and scores of nodegroup over arrays and a plain rule for one node agree on clusters by chance."""

import json
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyroclast.framework.extension import contract
from pyroclast.model import wire
from tests.drawing import examples
from tests.unit.plugins.policies import World, group, node, opened, pod

ALIKE = settings(max_examples=examples(150), deadline=None)
SEEDS = st.integers(0, 2**32)
GROUPS = ("a", "b", "c")
ROOT, OWN = "root", "team"
CPU, MEMORY = "cpu", "memory"


@dataclass(frozen=True)
class Terms:
    """What a queue says of groups."""

    required: tuple[str, ...]
    preferred: tuple[str, ...]
    never: tuple[str, ...]
    rather_not: tuple[str, ...]

    def written(self) -> wire.QueueAffinity:
        """As part of a Queue."""
        return wire.QueueAffinity(
            node_group_affinity=wire.NodeGroupTerms(required=self.required, preferred=self.preferred),
            node_group_anti_affinity=wire.NodeGroupTerms(required=self.never, preferred=self.rather_not),
        )

    @property
    def says_nothing(self) -> bool:
        """Whether all four lists are empty."""
        return not (self.required or self.preferred or self.never or self.rather_not)


class Case:
    """Nodes in groups, a queue with rules and limits below a parent with rules, pods that run, one that waits."""

    def __init__(self, seed: int) -> None:
        chance = self.chance = Random(seed)
        self.group_of = {f"n{number}": chance.choice(["", *GROUPS]) for number in range(chance.randint(1, 6))}
        self.strict, self.ordered, self.hierarchy = (chance.random() < 0.5 for _ in range(3))
        self.own, self.parent = self._terms(), self._terms()
        self.limits: dict[str, dict[str, int]] = {}
        for name in GROUPS:
            if chance.random() < 0.4:
                self.limits[name] = {what: chance.randint(1, 6) for what in (CPU, MEMORY) if chance.random() < 0.6}
        self.is_broken = chance.random() < 0.1
        self.on = {f"r{number}": chance.choice(sorted(self.group_of)) for number in range(chance.randint(0, 4))}
        self.on |= {"later": "", "p": ""}
        self.asks = {name: {CPU: chance.randint(1, 3), MEMORY: chance.randint(1, 2)} for name in self.on}

    def _terms(self) -> Terms | None:
        if self.chance.random() < 0.25:
            return None

        def some() -> tuple[str, ...]:
            return tuple(self.chance.choices(GROUPS, k=self.chance.choice([0, 0, 1, 2])))

        return Terms(some(), some(), some(), some())

    @property
    def terms(self) -> Terms | None:
        """What holds for the queue."""
        return self.parent if self.own is None and self.hierarchy else self.own

    def world(self) -> World:
        """A session with nodegroup alone."""
        limits = {
            name: {what: f"{amount}Gi" if what == MEMORY else str(amount) for what, amount in amounts.items()}
            for name, amounts in self.limits.items()
        }
        text = "{broken" if self.is_broken else json.dumps(limits)
        arguments = {"strict": self.strict, "enablePreferredOrder": self.ordered}
        nodes = (
            node(name, labels={"volcano.sh/nodegroup-name": of} if of else {}) for name, of in self.group_of.items()
        )
        return opened(
            *nodes,
            _queue(ROOT, self.parent, "", ""),
            _queue(OWN, self.own, ROOT, text),
            group("job", queue=OWN),
            # of another queue: counts for nobody else
            group("other"),
            pod("o", job="other", on="n0", cpu="5", memory="9Gi"),
            *(
                pod(name, on=on, cpu=str(self.asks[name][CPU]), memory=f"{self.asks[name][MEMORY]}Gi")
                for name, on in self.on.items()
            ),
            plugins=[{"name": "nodegroup", "arguments": arguments, "enableHierarchy": self.hierarchy}],
        )

    def verdict(self, name: str) -> str:
        """Why a node refuses the pod that waits; empty where it does not."""
        of, terms = self.group_of[name], self.terms
        is_unset = terms is None or terms.says_nothing
        if self.is_broken:
            return "node group resource limit annotation invalid"
        if not of:
            return "" if is_unset and not self.strict else "node group label not found"
        if terms is None or is_unset:
            return "node group affinity not specified"
        allowed = of in terms.required or of in terms.preferred
        if of in terms.never:
            allowed = False
        if of in terms.rather_not:
            allowed = True
        if not allowed:
            return "node does not satisfy the node group affinity"
        for what, limit in self.limits.get(of, {}).items():
            used = sum(self.asks[pod_][what] for pod_, on in self.on.items() if on and self.group_of[on] == of)
            if used + self.asks["p"][what] > limit:
                return "node group resource limit exceeded"
        return ""

    def score(self, name: str) -> float:
        """What a node is worth."""
        of, terms = self.group_of[name], self.terms
        if not of or terms is None:
            return 0.0
        if of in terms.rather_not:
            return -1.0
        score = 100.0 if of in terms.required else 0.0
        if of in terms.preferred:
            count = len(set(terms.preferred))
            last = max(index for index, each in enumerate(terms.preferred) if each == of)
            score += 50.0 * (count - last) / count if self.ordered else 50.0
        return score


def _queue(name: str, terms: Terms | None, parent: str, limits: str) -> wire.Queue:
    annotations = {"volcano.sh/nodegroup-resource-limits": limits} if limits else {}
    return wire.Queue(
        metadata=wire.ObjectMeta(name=name, uid=name, annotations=annotations),
        spec=wire.QueueSpec(parent=parent, affinity=None if terms is None else terms.written()),
        status=wire.QueueStatus(state="Open"),
    )


def verdicts(there: World, columns: Any) -> dict[str, str]:
    """The reason of each of some nodes, empty where it takes the pod."""
    each, task = there.function(contract.PREDICATE), there.task("p")
    names = [str(there.session.nodes.table.names[column]) for column in columns.index.tolist()]
    assert each.cares is not None
    answer = each.function(task, columns) if each.cares(task) else np.zeros(len(names), dtype=np.uint8)
    return {
        name: each.reasons[code - 1].text if code else "" for name, code in zip(names, answer.tolist(), strict=True)
    }


def agree(there: World, case: Case) -> None:
    """All nodes at once, each alone, and the plain rule."""
    nodes = there.session.nodes
    together = verdicts(there, nodes.columns())

    assert together == {name: case.verdict(name) for name in case.group_of}
    for column in range(len(nodes)):
        alone = verdicts(there, nodes.columns(np.array([column])))
        assert alone == {name: together[name] for name in alone}


@ALIKE
@given(SEEDS)
def test_same_verdicts(seed: int) -> None:
    """As the session opens, while pods of the queue come and go, and when that is undone."""
    case = Case(seed)
    there = case.world()
    agree(there, case)

    before = dict(case.on)
    with there.session.statement() as statement:
        case.on["later"] = case.chance.choice(sorted(case.group_of))
        there.place(statement, "later", case.on["later"])
        agree(there, case)
        for name in [name for name, on in before.items() if on and case.chance.random() < 0.5]:
            case.on[name] = ""
            there.evict(statement, name)
        agree(there, case)

    case.on = before
    agree(there, case)


@ALIKE
@given(SEEDS)
def test_same_scores(seed: int) -> None:
    """One value for each node."""
    case = Case(seed)

    assert case.world().scores("p") == pytest.approx({name: case.score(name) for name in case.group_of})
