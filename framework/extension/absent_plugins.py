"""Absent plugins: plugins that could not be opened and may protect victims or reject nodes.

The vetoes of such a plugin are unknown. So in that cycle no pod is evicted that it could have protected, and no pod is
placed that it could have refused, because neither can be undone. At each point with vetoes, the plugin counts as a
function that fails. Flags that switch it off there hold, and so does `failurePolicy: Ignore`.
"""

from typing import Any, Final

from pyroclast.framework.configuration import PluginOption
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Point, Registered
from pyroclast.framework.extension.fences import LeftOutError
from pyroclast.framework.extension.served import EVICTABLE, SERVED, can_serve

__all__ = ["GUARDED_POINTS", "in_place_of"]

GUARDED_POINTS: Final[tuple[Point[Any], ...]] = (
    contract.PREEMPTABLE,
    contract.RECLAIMABLE,
    contract.UNIFIED_EVICTABLE,
    contract.QUEUE_SURPLUS,
    contract.MOVABLE,
)
"""Points at which plugins protect victims."""

_FLAGS: Final = {contract.QUEUE_SURPLUS.name: contract.RECLAIMABLE.flag}
"""Flags that identify the built-in plugins of points that no flag switches off."""


def in_place_of(option: PluginOption, *, guards_victims: bool, filters_nodes: bool) -> dict[str, Registered[Any]]:
    """Return by point what stands for a plugin that could not be opened.

    Args:
        option: Its place in the configuration.
        guards_victims: Whether it may spare victims, as far as it says itself.
        filters_nodes: Whether it may have predicates, likewise.
    """
    if option.ignores_failure:
        return {}
    closed = GUARDED_POINTS if guards_victims else ()
    if filters_nodes:
        closed = (*closed, contract.PRE_PREDICATE)  # asked once for a task, where a predicate is for each node
    return {
        point.name: Registered(plugin=option.instance, function=_fail) for point in closed if _may_guard(option, point)
    }


def _may_guard(option: PluginOption, point: Point[Any]) -> bool:
    if point is contract.UNIFIED_EVICTABLE:
        return option.plugin not in SERVED or option.plugin in EVICTABLE
    flag = _FLAGS.get(point.name, point.flag)
    return flag is None or can_serve(option.plugin, flag)


def _fail(*_: Any) -> Any:
    raise LeftOutError
