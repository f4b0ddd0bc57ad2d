"""HyperNodes: at least one member, and valid patterns."""

from collections.abc import Iterator, Mapping
from typing import Any

from pyroclast.controllers.admission.faults import Fault, the_first
from pyroclast.controllers.admission.lookups import Lookups
from pyroclast.controllers.admission.rules.shape import read
from pyroclast.model.api.topology import HyperNode, MemberType
from pyroclast.model.matching.patterns import PatternError, compile_pattern

__all__ = ["faults_of", "warnings_of"]


def faults_of(
    hyper_node: Mapping[str, Any] | HyperNode,
    old: Mapping[str, Any] | HyperNode | None = None,
    lookups: Lookups | None = None,  # noqa: ARG001  all rules have one signature
) -> tuple[Fault, ...]:
    """Find the faults of a HyperNode, or nothing if its spec is unchanged.

    Args:
        hyper_node: The HyperNode, as JSON or as its struct.
        old: Previous HyperNode, None for a new one.
        lookups: Not used.
    """
    return the_first(_faults(hyper_node, old))


def warnings_of(hyper_node: Mapping[str, Any] | HyperNode) -> tuple[str, ...]:
    """Return the warnings for a valid HyperNode: members that the scheduler ignores.

    Args:
        hyper_node: The HyperNode, as JSON or as its struct.
    """
    known = read(HyperNode, hyper_node)
    if isinstance(known, Fault):
        return ()
    return tuple(
        f"spec.members[{number}].selector: a member of type HyperNode is named by exactMatch alone; this one is ignored"
        for number, member in enumerate(known.spec.members)
        if member.type == MemberType.HYPER_NODE and member.selector.exact_match is None
    )


def _faults(value: Mapping[str, Any] | HyperNode, old: Mapping[str, Any] | HyperNode | None) -> Iterator[Fault]:
    hyper_node = read(HyperNode, value)
    if isinstance(hyper_node, Fault):
        yield hyper_node
        return
    if old is not None:
        earlier = read(HyperNode, old)
        if isinstance(earlier, HyperNode) and earlier.spec == hyper_node.spec:
            return
    if not hyper_node.spec.members:
        yield Fault(field="spec.members", expected="at least one member", rule="member must have at least one member")
    for number, member in enumerate(hyper_node.spec.members):
        if member.selector.regex_match is not None:
            pattern = member.selector.regex_match.pattern
            wrong = _wrong(pattern)
            if wrong:
                yield Fault(
                    field=f"spec.members[{number}].selector.regexMatch.pattern",
                    value=pattern,
                    expected="a regular expression",
                    rule=f"member regexMatch pattern is invalid: {wrong}",
                )


def _wrong(pattern: str) -> str | None:
    try:
        compile_pattern(pattern)
    except PatternError as error:
        return str(error)
    return None
