"""Network-topology-aware over arrays and a plain computation, node by node, agree on trees by chance."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyroclast.framework.extension import contract
from pyroclast.model import wire
from pyroclast.model.ids import NodeName
from tests.differential.racks import PlainSite, plain_site
from tests.drawing import examples
from tests.unit.plugins.policies import World, group, node, opened, pod

ALIKE = settings(max_examples=examples(120), deadline=None)
SEEDS = st.integers(0, 2**32)
FADING = (0.0, 0.5, 0.8, 1.0)
WEIGHT = 2
IMPORTANCE = {"cpu": 3, "memory": 4}
Amounts = dict[str, dict[str, int]]


class Case:
    """A site by chance: pods of the job `near`, which has a topology, and of `plain`, which has none."""

    def __init__(self, seed: int) -> None:
        chance = self.chance = Random(seed)
        self.site: PlainSite = plain_site(chance)
        self.offered: Amounts = {
            name: {"cpu": chance.choice([2, 4, 8]), "memory": chance.choice([4, 8])} for name in self.site.nodes
        }
        self.fading = chance.choice(FADING)
        self.on = {f"near{number}": chance.choice(["", *self.site.nodes]) for number in range(chance.randint(1, 5))}
        self.on |= {f"plain{number}": chance.choice(["", *self.site.nodes]) for number in range(chance.randint(0, 5))}
        self.on |= {"near-next": "", "plain-next": ""}
        self.asks = {name: {"cpu": chance.randint(1, 2), "memory": chance.randint(0, 2)} for name in self.on}

    def world(self) -> World:
        """A session with the plugin alone."""
        topology = wire.NetworkTopologySpec(mode=self.chance.choice(["hard", "soft"]))
        pods = [
            pod(name, job="near" if name.startswith("near") else "plain", on=on, **self._written(name))
            for name, on in self.on.items()
        ]
        arguments = {
            "weight": WEIGHT,
            "hypernode.binpack.normal-pod.fading": self.fading,
            **{f"hypernode.binpack.{name}": weight for name, weight in IMPORTANCE.items()},
        }
        return opened(
            *(node(name, cpu=str(each["cpu"]), memory=f"{each['memory']}Gi") for name, each in self.offered.items()),
            *self.site.objects(),
            group("near", network_topology=topology),
            group("plain"),
            *pods,
            plugins=[{"name": "network-topology-aware", "arguments": arguments}],
        )

    def _written(self, name: str) -> dict[str, Any]:
        memory = self.asks[name]["memory"]
        return {"cpu": str(self.asks[name]["cpu"]), "memory": f"{memory}Gi" if memory else ""}

    def used(self) -> Amounts:
        """What pods take of each node."""
        return {
            each: {
                name: sum(self.asks[task][name] for task, on in self.on.items() if on == each) for name in IMPORTANCE
            }
            for each in self.site.nodes
        }

    def placed(self) -> list[str]:
        """Nodes of the pods of `near`."""
        return [on for name, on in self.on.items() if name.startswith("near") and on]

    def plain(self, task: str, candidates: Sequence[str]) -> Mapping[str, float]:
        """What the rule gives."""
        if task.startswith("near"):
            size = sum(name.startswith("near") for name in self.on)
            scores = self.site.closeness(candidates, self.placed(), size)
        else:
            scores = self.site.packing(
                candidates,
                request=self.asks[task],
                used=self.used(),
                offered=self.offered,
                weights=IMPORTANCE,
                fading=self.fading,
            )
        return {name: 100 * WEIGHT * score for name, score in scores.items()}

    def candidates(self) -> list[str]:
        """Some of the nodes."""
        return sorted(self.chance.sample(self.site.nodes, self.chance.randint(1, len(self.site.nodes))))


def agree(there: World, case: Case, task: str) -> None:
    """Some candidates, all of them, and each alone score as the rule says."""
    for candidates in (case.candidates(), list(case.site.nodes), *([name] for name in case.site.nodes)):
        assert there.scores(task, among=candidates) == pytest.approx(case.plain(task, candidates)), candidates


@ALIKE
@given(SEEDS, st.sampled_from(["near-next", "plain-next"]))
def test_same_scores(seed: int, task: str) -> None:
    """As the session opens, with pods placed and evicted in it, and when that is undone."""
    case = Case(seed)
    there = case.world()
    agree(there, case, task)

    before = dict(case.on)
    with there.session.statement() as statement:
        for name in [name for name, on in before.items() if not on and name != task]:
            case.on[name] = case.chance.choice(case.site.nodes)
            there.place(statement, name, case.on[name])
        agree(there, case, task)
        for name in [name for name, on in before.items() if on and case.chance.random() < 0.5]:
            case.on[name] = ""
            there.evict(statement, name)
        agree(there, case, task)

    case.on = before
    agree(there, case, task)


@ALIKE
@given(SEEDS, st.sampled_from(["near", "plain"]))
def test_groups_foresee_what_placements_change(seed: int, job: str) -> None:
    """Scores of groups with a task supposed on a node are those after it was placed there."""
    case = Case(seed)
    like = f"{job}-next"
    case.on[f"{job}-last"], case.asks[f"{job}-last"] = "", case.asks[like]
    there = case.world()
    columns = there.session.nodes.table.column
    candidates = case.candidates()
    numbers = [columns[NodeName(name)] for name in candidates]
    registered = there.function(contract.NODE_ORDER)
    assert registered.grouped is not None
    supposed = registered.grouped(there.task(like))
    assert supposed is not None
    on = case.chance.choice(case.site.nodes)
    supposed.place(int(supposed.groups[columns[NodeName(on)]]), columns[NodeName(on)])
    sizes = np.bincount(supposed.groups[numbers], minlength=supposed.group_count)
    with there.session.statement() as statement:
        there.place(statement, like, on)
        case.on[like] = on
        found = supposed.scores(sizes)[supposed.groups[numbers]]

        assert dict(zip(candidates, found.tolist(), strict=True)) == pytest.approx(
            case.plain(f"{job}-last", candidates)
        )
