"""The example of docs/plugins/drf.md."""

from collections.abc import Sequence
from typing import Any

from pyroclast.framework.extension import contract
from pyroclast.plugins.drf.tree import Tree
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import World, acted, bound, group, node, opened, pod, queue

TOTAL = (10000, 10000)


def held(name: str, *amounts: tuple[str, str]) -> list[Any]:
    """A group with running pods of (cpu, memory)."""
    pods = (pod(f"{name}{at}", job=name, on="n", cpu=cpu, memory=memory) for at, (cpu, memory) in enumerate(amounts))
    return [group(name), *pods]


def world(*objects: Any) -> World:
    """A session with drf alone: 10 CPU and 100 of memory, and a preemptor whose job would have 3 CPU."""
    mine = (*held("mine", ("2", "5")), pod("p", job="mine", cpu="1", memory="5"))
    return opened(node("n", cpu="10", memory="100", pods=1000), *objects, *mine, plugins=["drf"])


def victims(there: World, *names: str) -> list[str]:
    """Victims of the preemptor."""
    chosen, _ = there.function(contract.PREEMPTABLE).function(there.task("p"), there.tasks(*names))
    return [task.name for task in chosen]


def grown(*jobs: tuple[str, str, Sequence[int]]) -> Tree:
    """A tree of jobs that want more than they have: path, weights, allocation."""
    tree = Tree(TOTAL)
    for number, (path, weights, allocated) in enumerate(jobs):
        tree.add_job(f"j{number}", tree.node(path, weights), request=(20000, 20000), allocated=allocated)
    tree.settle()
    return tree


def wanted(name: str, own: str, **asked: str) -> list[Any]:
    """A group with ten pending pods."""
    requests: dict[str, Any] = {"cpu": "", "memory": "", **asked}
    return [group(name, queue=own), *(pod(f"{name}{at}", job=name, **requests) for at in range(10))]


def ended() -> list[int]:
    """How many pods of science, development and production run."""
    there = acted(
        opened(
            node("n", cpu="10", memory="10G", pods=50),
            queue("dev", hierarchy="root/eng/dev", weights="100/50/50"),
            queue("prod", hierarchy="root/eng/prod", weights="100/50/50"),
            queue("sci", hierarchy="root/sci", weights="100/50"),
            *wanted("d", "dev", cpu="1"),
            *wanted("m", "prod", memory="1G"),
            *wanted("s", "sci", cpu="1", memory="1G"),
            plugins=["gang", {"name": "drf", "enableHierarchy": True}],
            actions="allocate",
        )
    )
    names = [name[0] for name in bound(there)]
    return [names.count(name) for name in "sdm"]


def test_the_page() -> None:
    """Victims by share, a child that is far ahead, one that is saturated, and who ends with what."""
    left = {"a": ("5", "15"), "b": ("3", "5"), "c": ("2", "40"), "d": ("2500m", "1")}
    several = world(*(each for name, rest in left.items() for each in held(name, ("1", "1"), rest)))
    assert victims(several, "a0", "b0", "c0", "d0") == ["a0", "b0", "c0"]
    six = world(*held("j", *[("1", "1")] * 6))
    gone = len(victims(six, *(f"j{at}" for at in range(6))))
    assert gone == 3

    tree = grown(
        ("root/eng/dev", "1/1/1", (8000, 0)), ("root/eng/prod", "1/1/1", (0, 2000)), ("root/sci", "1/2", (0, 3000))
    )
    eng, sci = tree.node("root/eng", ""), tree.node("root/sci", "")
    dev, prod = tree.node("root/eng/dev", ""), tree.node("root/eng/prod", "")
    assert tree.compare("root/sci", "root/eng/dev") < 0 < tree.compare("root/eng/dev", "root/eng/prod")

    full = grown(("root/a", "1/1", (6000, 0)), ("root/b/x", "1/1/1", (4000, 0)), ("root/b/y", "1/1/1", (0, 4000)))
    saturated = [full.node(f"root/{path}", "").is_saturated for path in ("a", "b/x", "b/y", "b")]
    assert saturated == [True, True, False, False]
    assert full.compare("root/b/y", "root/a") < 0

    assert_tells(
        "plugins/drf",
        "10 CPU and 100 of memory; the preemptor's job would have 3 CPU: 0.30. Candidates that leave their jobs with "
        "0.50, 0.30 and 0.40 may be evicted, one that leaves 0.25 may not.",
        "Three pods may be evicted of a job of six pods of 1 CPU: they leave "
        f"{', '.join(f'{(6 - at) / 10:g}' for at in range(1, gone))} and {(6 - gone) / 10:g}.",
        "10000 CPU and 10000 memory; `root/eng/dev` has 8000 CPU, `root/eng/prod` 2000 memory, "
        "`root/sci` (weight 2) 3000 memory.",
        f"eng counts {eng.vector[0]} CPU and {eng.vector[1]} memory: {float(eng.share):g}.",
        f"sci has {float(sci.share):g} / {sci.weight} = {float(sci.share / sci.weight):g} and goes before eng; "
        f"prod ({float(prod.share):g}) before dev ({float(dev.share):g}); the root has {float(tree.root.share):g}.",
        "All CPU is taken, by `root/a` (6000) and `root/b/x` (4000); `root/b/y` has 4000 memory.",
        "A node of 10 CPU and 10 GB; sci requests pods of both, dev of CPU, prod of memory, ten each. "
        "They end with {}, {} and {} pods.".format(*ended()),
    )
