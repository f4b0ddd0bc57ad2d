"""The actions that come with Pyroclast, by the names of the configuration file."""

from typing import Any, Final

from actions.allocate import Allocate
from actions.backfill import Backfill
from actions.enqueue import Enqueue
from actions.gangpreempt import GangPreempt
from actions.gangreclaim import GangReclaim
from actions.preempt import Preempt
from actions.reclaim import Reclaim
from actions.shuffle import Shuffle
from framework.extension.registry import Registry

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
    """Make the built-in actions known."""
    for action in BUILT_IN:
        registry.register_action(action.name, action)
