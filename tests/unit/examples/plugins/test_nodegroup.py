"""The example of docs/plugins/nodegroup.md."""

from typing import Any

import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.model import wire
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import World, node, opened, pod, queue

GROUPS = ("group1", "group2", "group3", "group4")
NODES = (*(node(name, labels={"volcano.sh/nodegroup-name": name}) for name in GROUPS), node("none"))


def terms(*required: str, preferred: tuple[str, ...] = ()) -> wire.NodeGroupTerms:
    """Lists of groups."""
    return wire.NodeGroupTerms(required=required, preferred=preferred)


def world(
    like: wire.NodeGroupTerms, shun: wire.NodeGroupTerms, *more: Any, limits: str = "", **arguments: Any
) -> World:
    """A session whose queue has these rules."""
    affinity = wire.QueueAffinity(node_group_affinity=like, node_group_anti_affinity=shun)
    plain = queue("default", affinity=affinity)
    annotations = {"volcano.sh/nodegroup-resource-limits": limits} if limits else {}
    metadata = wire.ObjectMeta(name="default", uid="default", annotations=annotations)
    ruled = wire.Queue(metadata=metadata, spec=plain.spec, status=plain.status)
    option = {"name": "nodegroup", "arguments": arguments}
    return opened(*NODES, ruled, pod("p", cpu="2"), *more, plugins=[option])


def refused(there: World) -> set[str]:
    """The nodes that the task may not use."""
    answer = there.function(contract.PREDICATE).function(there.task("p"), there.session.nodes.columns())
    names = there.session.nodes.table.names
    return {str(names[at]) for at in np.flatnonzero(answer)}


def test_the_page() -> None:
    """Rules, places in a list, and a limit."""
    there = world(terms("group1", "group3", preferred=("group3",)), terms("group2", "group4", preferred=("group4",)))
    rows = [
        f"| {name} | {score:g} | {'refused' if name in refused(there) else 'can be used'} |"
        for name, score in there.scores("p").items()
    ]
    ordered = world(terms(preferred=("group1", "group3")), terms(), enablePreferredOrder=True).scores("p")
    limits = '{"group1": {"cpu": "3"}}'
    limited = world(terms("group1", "group2"), terms(), pod("r", on="group1", cpu="2"), limits=limits)
    assert ("group1" in refused(limited), "group2" in refused(limited)) == (True, False)

    assert_tells(
        "plugins/nodegroup",
        "required group1 and group3, preferred group3, anti-affinity required group2 and group4, preferred group4:",
        *rows,
        "With `enablePreferredOrder`, preferred group1 and group3 score "
        f"{ordered['group1']:g} and {ordered['group3']:g}.",
        f"With `{limits}` and 2 CPU used in group1, a pod of 2 CPU is refused there, and not in group2.",
    )
