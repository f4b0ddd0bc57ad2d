"""Members: the nodes and HyperNodes that the selectors of a HyperNode match."""

from collections.abc import Iterator, Sequence

from pyroclast.model.api.topology import HyperNode, MemberSelector
from pyroclast.model.matching.patterns import Names, PatternError, found_in
from pyroclast.model.matching.selectors import Selector
from pyroclast.model.wire import Node

__all__ = ["depends_on_nodes", "member_names"]


def member_names(hyper_node: HyperNode, nodes: Sequence[Node]) -> frozenset[str]:
    """Return the names of the members, which are nodes or HyperNodes.

    An exact name counts even if no such object exists. Patterns and labels select nodes. An invalid pattern selects
    nothing.
    """
    return frozenset(name for member in hyper_node.spec.members for name in _selected(member.selector, nodes))


def depends_on_nodes(hyper_node: HyperNode) -> bool:
    """Return whether the members depend on the names and labels of nodes."""
    return any(
        member.selector.regex_match is not None or member.selector.label_match is not None
        for member in hyper_node.spec.members
    )


def _selected(selector: MemberSelector, nodes: Sequence[Node]) -> Iterator[str]:
    if selector.exact_match is not None and selector.exact_match.name:
        yield selector.exact_match.name
    if selector.regex_match is not None:
        yield from _found(selector.regex_match.pattern, nodes)
    labels = selector.label_match
    if labels is not None and (labels.match_labels or labels.match_expressions):
        matcher = Selector.of(labels)
        yield from (node.metadata.name for node in nodes if matcher.matches(node.metadata.labels))


def _found(pattern: str, nodes: Sequence[Node]) -> Iterator[str]:
    try:
        numbers = found_in(pattern, Names(node.metadata.name for node in nodes))
    except PatternError:
        return
    yield from (nodes[number].metadata.name for number in numbers)
