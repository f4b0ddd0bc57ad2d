"""Members: which nodes of the table the members of a HyperNode are."""

from collections.abc import Callable, Iterator

import numpy as np

from pyroclast.model import wire
from pyroclast.model.arrays import IntArray
from pyroclast.model.matching.patterns import Names, PatternError, found_in
from pyroclast.model.matching.selectors import Selector, unreadable
from pyroclast.model.nodes import NodeFacts

__all__ = ["children_of", "node_members"]

Fault = Callable[[str, str], None]
"""Receives the path of a field and the message about it."""

NODE = "Node"
HYPER_NODE = "HyperNode"


def children_of(hyper_node: wire.HyperNode, fault: Fault) -> Iterator[str]:
    """Return the names of the HyperNodes among the members. Members of this type have exact names only."""
    for number, member in enumerate(hyper_node.spec.members):
        if member.type == HYPER_NODE:
            exact = member.selector.exact_match
            if exact is not None and exact.name:
                yield exact.name
            else:
                fault(f"spec.members[{number}].selector", "a HyperNode member is named by exactMatch alone; ignored")


def node_members(hyper_node: wire.HyperNode, facts: NodeFacts, fault: Fault) -> IntArray:
    """Return the columns of the nodes among the members, ascending, shape (members,).

    A pattern is searched for anywhere in a name. A selector without labels and expressions selects nothing.
    """
    chosen: set[int] = set()
    for number, member in enumerate(hyper_node.spec.members):
        path = f"spec.members[{number}]"
        if member.type == NODE:
            chosen.update(_columns_of(member.selector, facts, path, fault))
        elif member.type != HYPER_NODE:
            fault(f"{path}.type", f"{member.type!r} is neither Node nor HyperNode; ignored")
    return np.array(sorted(chosen), dtype=np.int64)


def _columns_of(selector: wire.MemberSelector, facts: NodeFacts, path: str, fault: Fault) -> tuple[int, ...]:
    if selector.exact_match is not None:
        column = facts.column_by_name.get(selector.exact_match.name)
        if column is not None:
            return (column,)
        fault(f"{path}.selector.exactMatch.name", f"no node is named {selector.exact_match.name!r}")
        return ()
    if selector.regex_match is not None:
        return _found(selector.regex_match.pattern, facts, f"{path}.selector.regexMatch.pattern", fault)
    labels = selector.label_match
    if labels is None or not (labels.match_labels or labels.match_expressions):
        fault(f"{path}.selector", "selects nothing")
        return ()
    for where, message in unreadable(labels):
        fault(f"{path}.selector.labelMatch.{where}", message)
    matcher = Selector.of(labels)
    return facts.derive(
        ("hypernode labels", matcher),
        lambda: tuple(column for column, node in enumerate(facts.nodes) if matcher.matches(node.labels)),
    )


def _found(pattern: str, facts: NodeFacts, path: str, fault: Fault) -> tuple[int, ...]:
    names: Names = facts.derive("names to search", lambda: Names(node.name for node in facts.nodes))
    try:
        found: tuple[int, ...] = facts.derive(("hypernode pattern", pattern), lambda: found_in(pattern, names))
    except PatternError as error:
        fault(path, f"{pattern!r} is no pattern: {error}")
        return ()
    return found
