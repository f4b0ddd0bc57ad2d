"""The configuration as values.

Configuration  one generation of the file
└── Profile    how pods of certain scheduler names are scheduled: actions in order, tiers of plugins
    └── PluginOption  one plugin in a tier: flags and raw arguments
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyroclast.framework.configuration.flags import HIERARCHY
from pyroclast.model.sealed import SealedDict, sealed

__all__ = ["Configuration", "Parsed", "PluginOption", "Profile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginOption:
    """One plugin entry of a tier."""

    plugin: str
    """The kind of plugin, `extender`: the name that finds its builder."""
    instance: str
    """The name it answers by; equals `plugin` unless the file gives one, and is unique in a profile."""
    flags: Mapping[str, bool]
    """Every flag by its canonical spelling."""
    arguments: Mapping[str, Any] = field(default_factory=SealedDict)
    """Arguments as written. `framework.configuration.arguments.decode` types them."""
    ignores_failure: bool = False
    """Whether it counts as absent in a cycle in which it cannot be opened; else what it may refuse is refused."""
    time_budget: float | None = None
    """Seconds that its calls may take in a session; 0 for no limit, None for the limit of the process."""
    shadow: bool = False
    """Whether its answers are compared only; see `framework.session.shadows`."""
    path: str = ""
    """Path in the configuration: `tiers[1].plugins[0]`."""

    def __post_init__(self) -> None:
        """Seal what was given as plain containers."""
        object.__setattr__(self, "flags", sealed(self.flags))
        object.__setattr__(self, "arguments", sealed(self.arguments))

    @property
    def hierarchy(self) -> bool:
        """Whether queues are a tree to this plugin."""
        return self.flags[HIERARCHY]

    def enabled(self, flag: str) -> bool:
        """Return whether the plugin is asked at the points that this flag gates, by its canonical spelling."""
        return self.flags[flag]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Rules by which pods of certain scheduler names are scheduled."""

    scheduler_names: tuple[str, ...] = ()
    """Scheduler names of the pods. Empty means all pods whose scheduler name no other profile lists."""
    name: str = ""
    """The first scheduler name that the process serves with it: its name in metrics, logs and explanations."""
    actions: tuple[str, ...]
    """Actions in the order of a cycle."""
    tiers: tuple[tuple[PluginOption, ...], ...] = ()
    """Plugins by precedence; unknown ones and shadows are left out, so a tier may be empty."""
    shadows: tuple[PluginOption, ...] = ()
    """Plugins in shadow mode, in the order of the file. No decision depends on them."""
    action_arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=SealedDict)
    """Raw arguments by action."""
    metrics: Mapping[str, str] = field(default_factory=SealedDict)
    """Source of node usage. Empty means no source."""

    def __post_init__(self) -> None:
        """Seal what was given as plain containers."""
        object.__setattr__(self, "action_arguments", sealed(self.action_arguments))
        object.__setattr__(self, "metrics", sealed(self.metrics))

    @property
    def plugins(self) -> tuple[PluginOption, ...]:
        """The plugins of all tiers, in order, without shadows."""
        return tuple(option for tier in self.tiers for option in tier)

    @property
    def admits_after_allocate(self) -> bool:
        """Whether enqueue stands after the last allocate: the next cycle places what it admits."""
        last = max((at for at, name in enumerate(self.actions) if name == "allocate"), default=len(self.actions))
        return "enqueue" in self.actions[last + 1 :]


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One generation of the configuration."""

    generation: int
    """Rises with each accepted change; decisions carry it."""
    profiles: tuple[Profile, ...]
    """Profiles; at least one."""
    source: str
    """SHA-256 of the text it was read from, hexadecimal: equal sources are equal configurations."""
    turn: int = 0
    """Position of the profile that decides, among `profiles`."""

    @property
    def deciding(self) -> Profile:
        """The profile that decides."""
        return self.profiles[self.turn]

    def turns(self) -> "Iterator[Configuration]":
        """Yield the configuration of each session of a cycle: one for each profile, in their order."""
        return (self if turn == self.turn else replace(self, turn=turn) for turn in range(len(self.profiles)))

    def profile(self, scheduler_name: str) -> Profile | None:
        """Return the profile for pods of this scheduler name: the one that names it, else the one for all others."""
        for profile in self.profiles:
            if scheduler_name in profile.scheduler_names:
                return profile
        return next((profile for profile in self.profiles if not profile.scheduler_names), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A usable configuration, with the warnings for its author."""

    configuration: Configuration
    warnings: tuple[str, ...] = ()
    """Sentences that start with a path."""
    skipped: tuple[str, ...] = ()
    """Those of the warnings that name plugins which do not exist."""
