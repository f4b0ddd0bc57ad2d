"""Known names: the names that a configuration may use."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

__all__ = ["Known"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The plugins and actions that exist, and what they take."""

    plugins: Collection[str]
    actions: Collection[str]
    argument_types: Mapping[str, type] = field(default_factory=dict)
    """Dataclass of arguments by plugin; arguments of plugins that are not here are not checked."""
    action_argument_types: Mapping[str, type] = field(default_factory=dict)
    """Dataclass of arguments by action."""
    absent_flags_on: bool = True
    """Whether a flag that is not written has its default; else it is off, and combinations are not checked."""
