"""Node selectors: used by pods, volumes and devices alike."""

from pyroclast.model.api.meta import SelectorRequirement, Wire

__all__ = ["NodeSelector", "NodeSelectorTerm"]


class NodeSelectorTerm(Wire, frozen=True, kw_only=True):
    """All expressions (labels) and fields (`metadata.name`) must match; an empty term matches nothing."""

    match_expressions: tuple[SelectorRequirement, ...] = ()
    match_fields: tuple[SelectorRequirement, ...] = ()


class NodeSelector(Wire, frozen=True, kw_only=True):
    """One of the terms must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()
