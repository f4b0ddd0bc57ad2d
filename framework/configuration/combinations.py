"""Plugins of one profile that do not go together."""

from collections.abc import Sequence

from pyroclast.framework.configuration.notes import Notes, below
from pyroclast.framework.configuration.types import PluginOption

__all__ = ["check_combinations", "drop_repeated"]


def drop_repeated(options: Sequence[PluginOption], notes: Notes) -> None:
    """Note each plugin with a name that another plugin already has. Two plugins of one name cannot be distinguished."""
    first: dict[str, PluginOption] = {}
    for option in options:
        earlier = first.setdefault(option.instance, option)
        if earlier is not option:
            path = below(option.path, "name" if option.instance == option.plugin else "instance")
            notes.fault(
                path,
                f"{option.instance!r} is already listed at {earlier.path}; "
                "a plugin may be listed twice only if each entry has its own `instance` name",
            )


def check_combinations(options: Sequence[PluginOption], notes: Notes) -> None:
    """Note plugins that would decide the same thing twice, or nothing alone, in whichever tiers they stand."""
    by_plugin = {option.plugin: option for option in reversed(options)}
    proportion, capacity = by_plugin.get("proportion"), by_plugin.get("capacity")
    if proportion is not None:
        for option in options:
            if option.plugin == "drf" and option.hierarchy:
                notes.fault(
                    below(option.path, "enableHierarchy"),
                    f"drf with a hierarchy and proportion ({proportion.path}) both divide the cluster among queues; "
                    "leave one out",
                )
    if proportion is not None and capacity is not None:
        notes.warn(
            below(capacity.path, "name"),
            f"capacity beside proportion ({proportion.path}): each queue must satisfy both, which is rarely meant",
        )
    coscheduling = by_plugin.get("coscheduling")
    if coscheduling is not None and "gang" not in by_plugin:
        notes.warn(
            below(coscheduling.path, "name"), "coscheduling without gang: no minimum number of members is enforced"
        )
