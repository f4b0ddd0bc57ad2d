"""Vetoes: plugins that protect pods but are not queried. A tier is queried only if earlier tiers name no victims."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from pyroclast.framework.configuration import PluginOption, Profile
from pyroclast.framework.diagnosis.lint.finding import Finding, Severity
from pyroclast.framework.extension.served import EVICTABLE, SERVED, serves

__all__ = ["SPARING", "lint_vetoes", "names_victims"]

SPARING: Final[Mapping[str, str]] = {
    "cdp": "pods in their cool-down time",
    "conformance": "pods of system components",
    "elastic-quota": "pods that must not be evicted for quotas, and those of other quotas",
    "pdb": "pods protected by a disruption budget",
    "tdm": "more pods of a job than its budget permits",
}
"""Plugins whose purpose is to protect pods, with these pods."""
IN_EVERY_TIER: Final = frozenset({"cdp", "conformance", "pdb"})
"""Those that protect them whichever tier decides, unless their argument `everyTier` is false."""

FLAGS: Final[Mapping[str, str | None]] = {
    "preempt": "enablePreemptable",
    "reclaim": "enableReclaimable",
    "gangpreempt": None,
    "gangreclaim": None,
}
"""Flag of the point at which an action queries for victims, by evicting action; None if no flag gates it."""


def lint_vetoes(profile: Profile) -> Iterator[Finding]:
    """Yield plugins that protect pods in a tier after one with plugins that name victims."""
    for number, tier in enumerate(profile.tiers):
        for option in tier:
            if option.plugin in SPARING and not _protects_in_every_tier(option):
                yield from _passed_by(option, number, profile, FLAGS, SPARING[option.plugin])


def _protects_in_every_tier(option: PluginOption) -> bool:
    return option.plugin in IN_EVERY_TIER and option.arguments.get("everyTier", True) not in (False, "false")


def _passed_by(
    option: PluginOption, number: int, profile: Profile, concerned: Collection[str], spared: str
) -> Iterator[Finding]:
    """Yield one finding for each tier that, first of all, answers before this plugin is asked in actions concerned."""
    actions_by_tier: dict[int, list[str]] = {}
    for action in profile.actions:
        if action in concerned and names_victims(option, action):
            first = next(n for n, tier in enumerate(profile.tiers) if any(names_victims(each, action) for each in tier))
            if first < number:
                actions_by_tier.setdefault(first, []).append(action)
    for first, actions in actions_by_tier.items():
        namers = [each.instance for each in profile.tiers[first] if any(names_victims(each, act) for act in actions)]
        message = (
            f"tiers[{number}] is asked for victims of {', '.join(actions)} only when tiers[{first}] "
            f"({', '.join(namers)}) names none, so {spared} are evicted all the same; "
            f"move {option.instance} to tiers[{first}]"
        )
        yield Finding(Severity.WARNING, option.path, message)


def names_victims(option: PluginOption, action: str) -> bool:
    """Return whether a plugin chooses victims of an action; of plugins from outside that is not known."""
    flag = FLAGS[action]
    if flag is None:
        return option.plugin in EVICTABLE
    return option.plugin in SERVED and serves(option, flag)
