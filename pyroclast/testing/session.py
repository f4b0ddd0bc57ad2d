"""Opening a session: for tests that call a plugin's functions directly."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyroclast.framework.cycle import Silent, open_plugins
from pyroclast.framework.extension.declarations import declared
from pyroclast.framework.extension.outside import Outside
from pyroclast.framework.session.memory import Settled
from pyroclast.framework.session.session import Session
from pyroclast.model.plan import Plan
from pyroclast.plugins.coscheduling import gang_rules
from pyroclast.scheduler.simulation.case import moment_after
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import PluginChoice, configured
from pyroclast.testing.scenario import Scenario

__all__ = ["open_session"]


def open_session(
    scenario: Scenario,
    *,
    plugins: Sequence[PluginChoice] = (),
    arguments: Mapping[str, Mapping[str, Any]] | None = None,
    actions: Sequence[str] = ("enqueue", "allocate", "backfill"),
    seed: int = 0,
    now: float | None = None,
    outside: Mapping[str, Outside] | None = None,
    committed: Callable[[Plan], None] = lambda _: None,
) -> Session:
    """Open a session on a scenario's cluster with registered plugins, without running an action.

    Args:
        scenario: The cluster.
        plugins: As for `Scenario.run`; every flag that is not set is on.
        arguments: Arguments by plugin.
        actions: Actions of the configuration; some plugins depend on them.
        seed: Seed of all random choices.
        now: Time, seconds since 1970; if None, long after the creation of all objects.
        outside: Answers to requests of plugins to services outside the cluster, by plugin instance.
        committed: Receives plans.

    Raises:
        ConfigError: A plugin or an action is unknown, or an argument cannot be used.
    """
    parsed, registry = configured(actions, plugins, arguments or {})
    configuration = parsed.configuration
    watched = declared(configuration, registry).kinds.values()
    cluster = cluster_of(
        scenario.objects, watched=watched, shard_mode=scenario.shard_mode, shard=scenario.shard, warnings=[]
    )
    profile = configuration.profiles[0]
    cluster.follow_gangs(gang_rules(profile))
    session = Session(
        cluster.snapshot(),
        profile,
        cycle=1,
        generation=configuration.generation,
        now=moment_after(scenario.objects) if now is None else now,
        seed=seed,
        outside=outside or {},
        committed=committed,
        settled=Settled(),
    )
    open_plugins(session, profile, registry, Silent())
    return session
