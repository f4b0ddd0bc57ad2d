"""Arguments that several actions have."""

from dataclasses import dataclass

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.placement.topology.turns import MOST_STEPS
from pyroclast.framework.session.namespace_windows import MOST_TEMPLATES

__all__ = ["AllocateArgs", "PlacingArgs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacingArgs:
    """Arguments of an action that places tasks."""

    predicateErrorCacheEnable: bool = True  # noqa: N815  # spelled as in the configuration file
    """Accepted for compatibility: verdicts of nodes are always updated, so there is nothing to disable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateArgs(PlacingArgs):
    """Arguments of the action allocate."""

    gangSearch: bool = True  # noqa: N815  # as above
    """Whether places for the members of a gang are searched together if placing them in order fails."""
    namespaceTemplates: int = argument("namespaceTemplates", MOST_TEMPLATES, least=0)  # noqa: N815  # as above
    """Distinct templates of one namespace's waiting jobs that are tried in a cycle, before its other jobs wait for a
    later cycle; 0 for no limit.
    """
    namespaceTrials: int = argument("namespaceTrials", MOST_STEPS, least=0)  # noqa: N815  # as above
    """Steps of trials of topology domains for one namespace in a cycle, before its other jobs wait for a later cycle;
    0 for no limit. A step is a trial of a domain, or a task that is tried in it.
    """
