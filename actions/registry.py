"""The built-in actions, by their names in the configuration file."""

from typing import Any, Final

from pyroclast.actions.allocate import Allocate
from pyroclast.actions.backfill import Backfill
from pyroclast.actions.enqueue import Enqueue
from pyroclast.actions.gangpreempt import GangPreempt
from pyroclast.actions.gangreclaim import GangReclaim
from pyroclast.actions.preempt import Preempt
from pyroclast.actions.reclaim import Reclaim
from pyroclast.actions.shuffle import Shuffle
from pyroclast.framework.extension.registry import Registry

__all__ = ["BUILT_IN", "register_built_in"]

BUILT_IN: Final[tuple[type[Any], ...]] = (
    Enqueue,
    Allocate,
    Backfill,
    Preempt,
    Reclaim,
    GangPreempt,
    GangReclaim,
    Shuffle,
)


def register_built_in(registry: Registry) -> None:
    """Register the built-in actions."""
    for action in BUILT_IN:
        registry.register_action(action.name, action)
