"""The argument `hookPlugins`: which plugins are called for quotas."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyroclast.framework.configuration.conversions import Mismatch

__all__ = ["MOST_HOOKS", "HookPlugin", "read_hook_plugins"]

MOST_HOOKS: Final = 16
"""Maximum number of entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookPlugin:
    """One entry of `hookPlugins`, with Koordinator's names."""

    key: str
    """Its name, unique among the entries."""
    factory: str
    """Plugin of the configuration that is called (`factoryKey`)."""
    args: str = ""
    """Text for the plugin (`factoryArgs`)."""


def read_hook_plugins(value: Any) -> tuple[HookPlugin, ...]:
    """Read the argument.

    Raises:
        Mismatch: It is no list of entries with unique keys.
    """
    expected = (
        f"at most {MOST_HOOKS} entries with unique key, factoryKey (a plugin of the configuration) and factoryArgs"
    )
    entries: list[Any] = value if isinstance(value, list) else [None]
    known = {"key", "factoryKey", "factoryArgs"}
    are_sound = all(
        isinstance(each, Mapping)
        and each.keys() <= known
        and all(isinstance(text, str) for text in each.values())
        and each.get("key")
        and each.get("factoryKey")
        for each in entries
    )
    if not are_sound or len(entries) > MOST_HOOKS or len({each["key"] for each in entries}) < len(entries):
        raise Mismatch(value, expected)
    return tuple(
        HookPlugin(key=each["key"], factory=each["factoryKey"], args=each.get("factoryArgs", "")) for each in entries
    )
