"""Arguments that several actions take."""

from dataclasses import dataclass

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.session.namespace_windows import MOST_TEMPLATES

__all__ = ["AllocateArgs", "PlacingArgs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacingArgs:
    """Arguments of an action that places tasks."""

    predicateErrorCacheEnable: bool = True  # noqa: N815  # spelled as in the configuration file
    """Accepted for compatibility: verdicts of nodes are always kept true, so there is nothing to switch off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateArgs(PlacingArgs):
    """Arguments of the action allocate."""

    gangSearch: bool = True  # noqa: N815  # as above
    """Whether the members of a gang are searched for places together where placing them in order finds none."""
    namespaceTemplates: int = argument("namespaceTemplates", MOST_TEMPLATES, least=0)  # noqa: N815  # as above
    """Unlike templates of the waiting jobs of one namespace that are looked at in a cycle, before others of its jobs
    wait for a later one; 0 for no limit."""
