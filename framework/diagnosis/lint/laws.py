"""Tiers from which Volcano would evict more important pods, or pods of queues that have no more than they deserve.

A tier is asked for victims when those before it name none. One in which victims are named without the plugin that knows
priorities, or shares, relies on the scheduler's own rules: `protectPriority` of preempt, `protectDeserved` of reclaim.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from pyroclast.framework.configuration import PluginOption, Profile
from pyroclast.framework.diagnosis.lint.finding import Finding, Severity
from pyroclast.framework.diagnosis.lint.vetoes import names_victims

__all__ = ["lint_laws"]

SHARES: Final = frozenset({"capacity", "elastic-quota", "proportion"})
"""Plugins that compute what a queue, or a quota, deserves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """Rules that an action keeps in every tier."""

    keepers: frozenset[str]
    """Plugins that keep it where they name victims."""
    relies_on: str
    """Argument of the action; False switches the law off."""
    victims: str
    """Pods that it protects."""


MORE_IMPORTANT: Final = "pods of a higher priority"
NO_SURPLUS: Final = "pods of queues that have no more than they deserve"
LAWS: Final = {
    "preempt": Law(keepers=frozenset({"priority"}), relies_on="protectPriority", victims=MORE_IMPORTANT),
    "reclaim": Law(keepers=SHARES, relies_on="protectDeserved", victims=NO_SURPLUS),
    "gangreclaim": Law(keepers=SHARES - {"proportion"}, relies_on="protectDeserved", victims=NO_SURPLUS),
}


def lint_laws(profile: Profile) -> Iterator[Finding]:
    """Yield tiers that name victims of an action without a plugin that keeps its law."""
    shares_known = any(each.plugin in SHARES for each in profile.plugins)
    for action in profile.actions:
        if action in LAWS and (action == "preempt" or shares_known):
            for number, tier in enumerate(profile.tiers):
                yield from _lint_tier(profile, action, f"tiers[{number}]", tier)


def _lint_tier(profile: Profile, action: str, path: str, tier: Iterable[PluginOption]) -> Iterator[Finding]:
    law = LAWS[action]
    naming = [option for option in tier if names_victims(option, action)]
    if not naming or any(option.plugin in law.keepers for option in naming):
        return
    names = ", ".join(option.instance for option in naming)
    message = (
        f"{names} name victims of {action} without {_one_of(profile, law.keepers)}, so they also name {law.victims}"
    )
    if profile.action_arguments.get(action, {}).get(law.relies_on, True) in (False, "false"):
        yield Finding(Severity.WARNING, path, f"{message}, which are evicted because {law.relies_on} is off")
    else:
        yield Finding(Severity.NOTE, path, f"{message}; only {law.relies_on} protects them")


def _one_of(profile: Profile, keepers: frozenset[str]) -> str:
    present = sorted({option.plugin for option in profile.plugins} & keepers)
    return " or ".join(present or sorted(keepers))
