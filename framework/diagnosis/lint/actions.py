"""Actions that need a plugin which is not there, and plugins that need an action."""

from collections.abc import Iterator
from typing import Final

from pyroclast.framework.configuration import Profile
from pyroclast.framework.diagnosis.lint.finding import Finding, Severity
from pyroclast.framework.extension.served import EVICTABLE, SERVED, can_serve, serves

__all__ = ["lint_actions"]

QUEUE_PLUGINS: Final = frozenset({"capacity", "elastic-quota", "proportion"})
"""Plugins that know what a queue, or a quota, deserves."""
PLACING: Final = frozenset({"allocate", "backfill"})


def lint_actions(profile: Profile, path: str) -> Iterator[Finding]:
    """Yield what the actions of a profile lack."""
    for severity, message in (*_admission(profile), *_placing(profile), *_evicting(profile)):
        yield Finding(severity, path, message)


def _admission(profile: Profile) -> Iterator[tuple[Severity, str]]:
    if "enqueue" in profile.actions:
        if profile.admits_after_allocate:
            yield Severity.NOTE, "enqueue comes after allocate: admitted jobs wait for the next cycle"
        return
    message = "no enqueue: allocate admits every pod group at once; groups that it has not seen are passed over by "
    yield Severity.NOTE, message + "backfill, preempt, reclaim, gangpreempt and gangreclaim"
    for option in profile.plugins:
        if SERVED.get(option.plugin) == frozenset({"enableJobEnqueued"}):
            yield Severity.WARNING, f"{option.plugin} ({option.path}) has no effect without the action enqueue"


def _placing(profile: Profile) -> Iterator[tuple[Severity, str]]:
    if "allocate" not in profile.actions:
        yield Severity.WARNING, "no allocate: pods with requests are never placed on idle resources"
    if PLACING.intersection(profile.actions) and not _asked(profile, "enablePredicate", "predicates"):
        ignored = "taints, selectors, affinity, ports and volumes are ignored"
        yield Severity.WARNING, f"pods are placed without the plugin predicates: {ignored}"
    if PLACING.intersection(profile.actions) and not _asked(profile, "enableJobReady", "gang"):
        yield Severity.WARNING, "pods are placed without the plugin gang: a group may run with less than its minMember"


def _evicting(profile: Profile) -> Iterator[tuple[Severity, str]]:
    plugins = {option.plugin for option in profile.plugins}
    if "preempt" in profile.actions:
        yield from _needs(profile, "preempt", "enablePreemptable", "names victims")
    if "reclaim" in profile.actions:
        yield from _needs(profile, "reclaim", "enableReclaimable", "names victims")
    for action in ("preempt", "reclaim"):
        if action in profile.actions:
            yield from _needs(profile, action, "enableJobStarving", "reports starving jobs")
    for action in ("gangpreempt", "gangreclaim"):
        if action in profile.actions and _known_only(profile) and not plugins & EVICTABLE:
            yield Severity.WARNING, f"{action} does nothing: no plugin names victims for it"
    for action in ("reclaim", "gangreclaim"):
        if action in profile.actions and _known_only(profile) and not _has_shares(profile):
            yield Severity.WARNING, f"{action} without capacity or proportion: queues have no deserved resources"
    if "elastic-quota" in plugins and "shuffle" not in profile.actions:
        message = "without shuffle no pods are evicted from quotas that exceed their limit for too long (elastic-quota)"
        yield Severity.NOTE, message
    if "shuffle" in profile.actions:
        yield from _needs(profile, "shuffle", "enabledVictim", "names pods to evict")
    if {"gangpreempt", "gangreclaim"} & set(profile.actions) and "network-topology-aware" not in plugins:
        message = "without the plugin network-topology-aware groups with a hard network topology are refused"
        yield Severity.NOTE, message


def _has_shares(profile: Profile) -> bool:
    """Return whether a plugin computes what queues deserve; drf does so along their tree."""
    return any(
        option.plugin in QUEUE_PLUGINS or (option.plugin == "drf" and option.hierarchy) for option in profile.plugins
    )


def _needs(profile: Profile, action: str, flag: str, what: str) -> Iterator[tuple[Severity, str]]:
    if not any(serves(option, flag) for option in profile.plugins):
        candidates = ", ".join(sorted(plugin for plugin in SERVED if can_serve(plugin, flag)))
        yield Severity.WARNING, f"{action} does nothing: no plugin {what} with {flag} on ({candidates})"


def _asked(profile: Profile, flag: str, plugin: str) -> bool:
    """Return whether the plugin, or one from outside that may do its work, answers at a flag's points."""
    return any(
        option.enabled(flag) for option in profile.plugins if option.plugin == plugin or option.plugin not in SERVED
    )


def _known_only(profile: Profile) -> bool:
    return all(option.plugin in SERVED for option in profile.plugins)
