"""HyperNode: a domain of the network."""

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from pyroclast.model.api import names
from pyroclast.model.api.definitions import AGE, Definition, KubernetesObject, PrinterColumn
from pyroclast.model.api.meta import Condition, LabelSelector, Wire
from pyroclast.model.api.rules import REQUIRED, FieldRules, Int64, ObjectName, Validation

__all__ = [
    "ExactMatch",
    "HyperNode",
    "HyperNodeSpec",
    "HyperNodeStatus",
    "MemberSelector",
    "MemberSpec",
    "MemberType",
    "RegexMatch",
]


class ExactMatch(Wire, frozen=True, kw_only=True):
    """The member with this name."""

    name: Annotated[ObjectName, REQUIRED, FieldRules(min_length=1)] = ""
    """Name of the node or HyperNode."""


class RegexMatch(Wire, frozen=True, kw_only=True):
    """Members whose name matches."""

    pattern: Annotated[str, REQUIRED, FieldRules(min_length=1)] = ""
    """Regular expression for the name."""


class MemberSelector(Wire, frozen=True, kw_only=True):
    """Selector of members. Exactly one of the matches is set."""

    exact_match: ExactMatch | None = None
    """The member with this name."""
    regex_match: RegexMatch | None = None
    """Members whose name matches."""
    label_match: LabelSelector | None = None
    """Nodes with these labels; for members of type Node."""


_ONE_MATCH = (
    Validation(
        rule="has(self.exactMatch) || has(self.regexMatch) || has(self.labelMatch)",
        message="one of exactMatch, regexMatch and labelMatch must be given",
    ),
    Validation(
        rule="(has(self.exactMatch) ? 1 : 0) + (has(self.regexMatch) ? 1 : 0) + (has(self.labelMatch) ? 1 : 0) <= 1",
        message="only one of exactMatch, regexMatch and labelMatch may be given",
    ),
)


class MemberType(StrEnum):
    """Type of a member."""

    NODE = "Node"
    HYPER_NODE = "HyperNode"


class MemberSpec(Wire, frozen=True, kw_only=True):
    """One rule that selects members."""

    type: Annotated[str, REQUIRED, FieldRules(enum=MemberType)] = ""
    """Whether the members are nodes or HyperNodes."""
    selector: Annotated[MemberSelector, FieldRules(validations=_ONE_MATCH)] = MemberSelector()
    """Selector of members. Exactly one of the matches is set."""


class HyperNodeSpec(Wire, frozen=True, kw_only=True):
    """Tier and members of the domain."""

    tier: Annotated[int, REQUIRED, FieldRules(minimum=0)] = msgspec.field(default_factory=int)
    """Level of the domain. Nodes of a lower tier are closer to each other."""
    tier_name: Annotated[str, FieldRules(max_length=253)] = ""
    """Name of the level, such as rack or row."""
    members: Annotated[tuple[MemberSpec, ...], FieldRules(min_items=1)] = ()
    """Members of the domain."""


class HyperNodeStatus(Wire, frozen=True, kw_only=True):
    """Status of the domain."""

    conditions: tuple[Condition, ...] = ()
    """Latest conditions, by type."""
    node_count: Annotated[Int64, FieldRules(minimum=0)] = 0
    """Number of members."""


class HyperNode(KubernetesObject, frozen=True, kw_only=True):
    """HyperNode is a domain of the network: nodes, or smaller domains, behind one switch."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.TOPOLOGY,
        kind="HyperNode",
        plural="hypernodes",
        short_names=("hn",),
        is_namespaced=False,
        columns=(
            PrinterColumn(name="Tier", path=".spec.tier", type="integer"),
            PrinterColumn(name="TierName", path=".spec.tierName"),
            PrinterColumn(name="NodeCount", path=".status.nodeCount", type="integer"),
            PrinterColumn(name="Age", path=AGE.path, type=AGE.type),
        ),
    )
    spec: HyperNodeSpec = HyperNodeSpec()
    """Tier and members of the domain."""
    status: HyperNodeStatus = HyperNodeStatus()
    """Status of the domain."""
