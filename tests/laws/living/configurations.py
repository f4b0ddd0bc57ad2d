"""Configurations that an operator may switch between while work runs, and what each promises."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.extension.registry import Registry
from pyroclast.testing.configuration import configured

__all__ = ["FLAT", "TREE", "Setting", "in_force", "with_looks"]

FIRST: Final = ("priority", "gang", "conformance")
RACKS: Final = "network-topology-aware"
BRANCHES: Final = {"name": "capacity", "enableHierarchy": True}
WINDOWS: Final = {
    "tdm.revocable-zone.night": "20:00-8:05",
    "tdm.revocable-zone.day": "8:01-8:10",
    "tdm.evict.period": "5s",
}
"""Worlds begin at eight."""
MARKS: Final = {"thresholds": {"cpu": 20, "memory": 20}, "targetThresholds": {"cpu": 50, "memory": 50}}
EVEN: Final = {
    "interval": "3s",
    "metricsPeriod": "10m",
    "strategies": [{"name": "lowNodeUtilization", "params": MARKS}],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A configuration by name."""

    name: str
    actions: Sequence[str]
    tiers: Sequence[Sequence[Any]]
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def plugins(self) -> set[str]:
        """Names of its plugins."""
        return {each if isinstance(each, str) else each["name"] for tier in self.tiers for each in tier}

    @property
    def keeps_budgets(self) -> bool:
        """Whether disruption budgets hold: pdb decides, and no later tier decides where it protects all pods."""
        return "pdb" in self.plugins and len(self.tiers) == 1

    @property
    def keeps_cooldown(self) -> bool:
        """Whether pods are spared while they cool down, by the same reckoning."""
        return "cdp" in self.plugins and len(self.tiers) == 1

    @property
    def keeps_quotas(self) -> bool:
        """Whether elastic quotas hold."""
        return "elastic-quota" in self.plugins

    @property
    def is_hierarchical(self) -> bool:
        """Whether limits hold along a tree of queues."""
        return any(each == BRANCHES for tier in self.tiers for each in tier)


def in_force(setting: Setting, generation: int) -> tuple[Configuration, Registry]:
    """Return a configuration as it is loaded for the n-th time, and what it names."""
    if setting.name not in _KNOWN:
        parsed, registry = configured(setting.actions, setting.tiers, setting.arguments)
        _KNOWN[setting.name] = parsed.configuration, registry
    configuration, registry = _KNOWN[setting.name]
    return replace(configuration, generation=generation), registry


def with_looks(configuration: Configuration, registry: Registry, inspector: Any) -> tuple[Configuration, Registry]:
    """Return the same configuration with an action that looks before each of its actions and at the end."""
    own = registry.copy()
    own.register_action("look", lambda _: inspector)
    profile = configuration.profiles[0]
    actions = ("look", *(name for action in profile.actions for name in (action, "look")))
    return replace(configuration, profiles=(replace(profile, actions=actions),)), own


_KNOWN: Final[dict[str, tuple[Configuration, Registry]]] = {}
"""Read by name, because reading them takes longer than a cycle."""


def _setting(name: str, actions: str, *tiers: Sequence[Any], **arguments: Mapping[str, Any]) -> Setting:
    return Setting(name=name, actions=actions.split(), tiers=tiers, arguments=arguments)


FLAT: Final = (
    _setting(
        "preempt and reclaim",
        "enqueue allocate preempt reclaim backfill",
        FIRST,
        ("overcommit", "drf", "predicates", "proportion", "nodeorder"),
    ),
    _setting("default", "enqueue allocate backfill", FIRST, ("drf", "predicates", "proportion", "nodeorder")),
    _setting(
        "least harm",
        "enqueue allocate preempt backfill",
        FIRST,
        ("drf", "predicates", "proportion", "nodeorder", RACKS),
        preempt={"enableTopologyAwarePreemption": True},
    ),
    _setting("capacity", "enqueue allocate reclaim backfill", FIRST, ("overcommit", "predicates", "capacity")),
    _setting(
        "gangs in racks",
        "enqueue allocate gangpreempt gangreclaim backfill",
        FIRST,
        ("predicates", "capacity", "nodeorder", RACKS, "binpack"),
    ),
    _setting(
        "every way",
        "enqueue allocate preempt reclaim gangpreempt gangreclaim backfill",
        (*FIRST, "pdb"),
        ("drf", "predicates", "proportion", "nodeorder", RACKS),
    ),
    _setting(
        "without a gate",
        "allocate preempt reclaim backfill",
        FIRST,
        ("drf", "predicates", "capacity", "nodeorder", RACKS),
    ),
    _setting(
        "one tier",
        "enqueue allocate preempt reclaim backfill",
        (*FIRST, "drf", "predicates", "capacity", "nodeorder", "pdb", "cdp"),
    ),
    _setting(
        "waiting time and cool-down",
        "enqueue allocate preempt reclaim backfill",
        ("priority", "sla", "gang", "conformance", "cdp", "pdb"),
        ("drf", "predicates", "proportion", "task-topology", "resource-strategy-fit"),
        sla={"sla-waiting-time": "10s"},
    ),
    _setting(
        "quotas",
        "enqueue allocate preempt gangreclaim backfill",
        FIRST,
        ("resourcequota", "overcommit", "predicates", "capacity", "nodeorder"),
    ),
    _setting(
        "zones",
        "enqueue allocate preempt shuffle backfill",
        (*FIRST, "tdm"),
        ("drf", "predicates", "proportion", "nodeorder"),
        tdm=WINDOWS,
    ),
    _setting(
        "groups of nodes",
        "enqueue allocate preempt reclaim backfill",
        FIRST,
        ("drf", "predicates", "capacity", "nodegroup", "nodeorder"),
        nodegroup={"strict": False},
    ),
    _setting(
        "measured use",
        "enqueue allocate preempt shuffle backfill",
        FIRST,
        ("drf", "predicates", "proportion", "usage", "load-aware", "rescheduling"),
        rescheduling=EVEN,
    ),
    _setting(
        "evened out within budgets",
        "enqueue allocate gangpreempt shuffle backfill",
        (*FIRST, "pdb", "drf", "predicates", "capacity", "nodeorder", "rescheduling"),
        rescheduling=EVEN,
    ),
    _setting(
        "everything",
        "enqueue allocate preempt reclaim gangpreempt gangreclaim shuffle backfill",
        (*FIRST, "sla", "pdb", "cdp", "tdm"),
        (
            "overcommit",
            "resourcequota",
            "drf",
            "predicates",
            "proportion",
            "nodegroup",
            "nodeorder",
            "binpack",
            "resource-strategy-fit",
            RACKS,
            "task-topology",
            "usage",
            "rescheduling",
        ),
        sla={"sla-waiting-time": "1m"},
        tdm=WINDOWS,
        nodegroup={"strict": False},
        rescheduling=EVEN,
    ),
    _setting(
        "elastic quotas",
        "enqueue allocate preempt reclaim shuffle backfill",
        (*FIRST, "elastic-quota"),
        ("drf", "predicates", "proportion", "nodeorder"),
        **{"elastic-quota": {"delayEvictTime": "3s"}},
    ),
    _setting(
        "elastic quotas of gangs",
        "allocate gangpreempt gangreclaim shuffle backfill",
        ("elastic-quota", *FIRST, "pdb", "predicates", "capacity", "nodeorder", RACKS),
        **{"elastic-quota": {"delayEvictTime": "0s"}},
    ),
    _setting("shares alone", "enqueue allocate preempt backfill", ("priority", "gang"), ("drf", "predicates")),
)
"""For queues side by side; in a tree they hold for its queues one by one."""

TREE: Final = (
    _setting(
        "tree",
        "enqueue allocate preempt reclaim backfill",
        FIRST,
        ("drf", "predicates", BRANCHES, "nodeorder", RACKS),
    ),
    _setting(
        "tree of gangs",
        "enqueue allocate gangpreempt gangreclaim backfill",
        (*FIRST, "pdb"),
        ("predicates", BRANCHES, "nodeorder", RACKS),
    ),
    _setting(
        "tree, every way",
        "enqueue allocate preempt reclaim gangpreempt gangreclaim backfill",
        FIRST,
        ("drf", "predicates", BRANCHES, "nodeorder", RACKS),
    ),
    _setting(
        "tree with groups of nodes",
        "enqueue allocate preempt gangreclaim shuffle backfill",
        (*FIRST, "tdm"),
        (
            "resourcequota",
            "predicates",
            BRANCHES,
            {"name": "nodegroup", "enableHierarchy": True},
            "nodeorder",
            RACKS,
            "usage",
            "rescheduling",
        ),
        tdm=WINDOWS,
        nodegroup={"strict": False, "enablePreferredOrder": True},
        rescheduling=EVEN,
    ),
    _setting(
        "tree of shares",
        "enqueue allocate preempt reclaim backfill",
        FIRST,
        ({"name": "drf", "enableHierarchy": True}, "predicates", "nodeorder"),
    ),
)
