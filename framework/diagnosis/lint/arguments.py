"""Arguments without effect."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyroclast.framework.configuration import PluginOption, Profile
from pyroclast.framework.configuration.conversions import Mismatch, convert
from pyroclast.framework.diagnosis.lint.finding import Finding, Severity

__all__ = ["lint_action_arguments", "lint_arguments"]

MUTES: Final[Mapping[str, str]] = {
    "binpack": "binpack.weight",
    "network-topology-aware": "weight",
    "task-topology": "task-topology.weight",
}
"""Weight that, at 0, disables a plugin that only scores."""

LISTS: Final = (
    ("binpack", "binpack.resources", "binpack.resources."),
    ("network-topology-aware", "hypernode.binpack.resources", "hypernode.binpack.resources."),
    ("resource-strategy-fit", "sra.resources", "sra.resourceWeight."),
)
"""Key that lists resources, and prefix of the keys with the weights of these resources, by plugin."""

NODE_ORDER_WEIGHTS: Final = {
    "leastrequested.weight": 1,
    "mostrequested.weight": 0,
    "balancedresource.weight": 1,
    "nodeaffinity.weight": 2,
    "podaffinity.weight": 2,
    "tainttoleration.weight": 3,
    "imagelocality.weight": 1,
    "podtopologyspread.weight": 2,
}
"""Weights of nodeorder with their defaults."""

ALWAYS_KEPT: Final = "verdicts of nodes are always kept true"
ALL_COMPARED: Final = "all nodes are compared, not a share of them"
BY_FLAGS: Final = "flags of the controllers configure it"
WITHOUT_EFFECT: Final[Mapping[str, Mapping[str, str]]] = {
    "allocate": {"predicateErrorCacheEnable": ALWAYS_KEPT},
    "backfill": {"predicateErrorCacheEnable": ALWAYS_KEPT},
    "predicates": {
        "predicate.CacheEnable": ALWAYS_KEPT,
        "dynamicresources.filterTimeoutSeconds": "the search for devices is bounded by steps",
    },
    "preempt": {
        "predicateErrorCacheEnable": ALWAYS_KEPT,
        "topologyAwarePreemptWorkerNum": "nodes are compared in one thread",
        "minCandidateNodesPercentage": ALL_COMPARED,
        "minCandidateNodesAbsolute": ALL_COMPARED,
        "maxCandidateNodesAbsolute": ALL_COMPARED,
    },
    "reclaim": {"predicateErrorCacheEnable": ALWAYS_KEPT},
    "reservation": {
        "minCandidateNodesPercentage": ALL_COMPARED,
        "minCandidateNodesAbsolute": ALL_COMPARED,
        "controllerWorkers": BY_FLAGS,
        "gcDurationSeconds": f"{BY_FLAGS}: --reservation-gc-duration",
        "gcIntervalSeconds": "objects are deleted when they are due",
        "resyncIntervalSeconds": "metrics are written in each cycle",
        "disableGarbageCollection": f"{BY_FLAGS}: --reservation-gc-duration=0",
        "reservationSelectorIndex": "decisions are equal with and without the index",
    },
}
"""Arguments that are accepted because Volcano or Koordinator has them, with the reason, by action or plugin."""

ANCESTOR_LEVEL: Final = "ancestorReclaimLevel"
"""Argument of capacity."""

GANG_ACTIONS: Final = frozenset({"gangpreempt", "gangreclaim"})


def lint_arguments(option: PluginOption) -> Iterator[Finding]:
    """Yield arguments of one plugin that change nothing, or silence it."""
    arguments, path = option.arguments, f"{option.path}.arguments"
    yield from _needless(option.plugin, arguments, path)
    weight = MUTES.get(option.plugin)
    if weight is not None and _number(arguments, weight, 1) == 0:
        yield Finding(
            Severity.WARNING, f"{path}.{weight}", f"0 disables the scores of {option.plugin}; remove the plugin"
        )
    if option.plugin == "nodeorder" and not any(_number(arguments, *each) for each in NODE_ORDER_WEIGHTS.items()):
        yield Finding(Severity.WARNING, path, "every weight is 0: nodeorder scores nothing")
    for plugin, key, prefix in LISTS:
        if option.plugin == plugin:
            yield from _unlisted(arguments, path, key, prefix)
    if option.plugin == "capacity" and not option.hierarchy and _number(arguments, ANCESTOR_LEVEL, 0):
        message = "has no effect: without enableHierarchy queues have no ancestors"
        yield Finding(Severity.WARNING, f"{path}.{ANCESTOR_LEVEL}", message)
    if option.plugin == "tdm" and not any(key.startswith("tdm.revocable-zone.") for key in arguments):
        message = "no tdm.revocable-zone.<zone>: nothing may run on revocable nodes"
        yield Finding(Severity.WARNING, path, message)


def lint_action_arguments(profile: Profile, path: str) -> Iterator[Finding]:
    """Yield arguments of actions that never run, and arguments that no action reads."""
    for action, arguments in profile.action_arguments.items():
        yield from _needless(action, arguments, f"{path}.{action}.arguments")
        read_by_others = action == "allocate" and GANG_ACTIONS.intersection(profile.actions)
        if action not in profile.actions and not read_by_others:
            yield Finding(Severity.WARNING, f"{path}.{action}", f"has no effect: {action} is not among the actions")


def _needless(owner: str, arguments: Mapping[str, Any], path: str) -> Iterator[Finding]:
    for key, reason in WITHOUT_EFFECT.get(owner, {}).items():
        if key in arguments:
            yield Finding(Severity.WARNING, f"{path}.{key}", f"has no effect: {reason}")


def _unlisted(arguments: Mapping[str, Any], path: str, key: str, prefix: str) -> Iterator[Finding]:
    try:
        listed = set(convert(tuple[str, ...], arguments.get(key) or ""))
    except Mismatch:
        return  # the list itself is at fault
    for other in arguments:
        if other.startswith(prefix) and other.removeprefix(prefix) not in listed:
            name = other.removeprefix(prefix)
            yield Finding(Severity.WARNING, f"{path}.{other}", f"has no effect, {key} does not list {name!r}")


def _number(arguments: Mapping[str, Any], key: str, default: float) -> float:
    """Return a number as the plugin will read it."""
    try:
        return float(convert(float, arguments.get(key, default)))
    except Mismatch:
        return default
