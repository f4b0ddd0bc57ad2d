"""The cycle: from a snapshot and a configuration to plans and a report, and nothing else.

Pure: no cluster, no clock, no chance. The same arguments give the same answer, byte for byte, which makes decisions
replayable from a record and lets `pyroclast simulate` and the daemon be the same code.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from copy import copy
from functools import partial
from typing import Any, Protocol

import msgspec

from pyroclast.framework.configuration import Configuration, PluginOption, Profile
from pyroclast.framework.diagnosis.blocking_jobs import find_blocking_jobs
from pyroclast.framework.diagnosis.closing import Closing
from pyroclast.framework.diagnosis.examinations import begin_tracing, end_tracing
from pyroclast.framework.diagnosis.ignored_terms import record_ignored_terms
from pyroclast.framework.diagnosis.permanent_causes import note_permanent_causes
from pyroclast.framework.diagnosis.reasons import reasons_of, show_unplaced
from pyroclast.framework.extension.budgets import Budgets
from pyroclast.framework.extension.contract import Ability, Plugin
from pyroclast.framework.extension.outside import Outside
from pyroclast.framework.extension.registry import Registry, says_no
from pyroclast.framework.queues.lending import lend_idle_capacity
from pyroclast.framework.queues.skipped_turns import skip_turns, waiting_beside_turns
from pyroclast.framework.reservations.recording import recorded
from pyroclast.framework.reservations.restoring import hold_capacity
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.framework.session.ownership import OwnJobs
from pyroclast.framework.session.report import SessionReport
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.session_values import Scratch
from pyroclast.framework.session.shadows.shadows import ShadowExtensions, ShadowPlugin, Shadows
from pyroclast.framework.session.shadows.tracing import Tracing
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport, Sample
from pyroclast.model.sealed import SealedDict
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import TaskStatus

__all__ = ["Observer", "Silent", "empty_report", "open_plugins", "run_cycle"]


class Observer(Protocol):
    """Observer of a cycle: it executes plans while the cycle runs, and measures the time of its phases."""

    def committed(self, plan: Plan) -> None:
        """Receive a plan at the moment of its commit."""
        ...

    def phase(self, name: str, begin: bool) -> None:
        """Mark that a phase begins or ends: `open`, `plugin/<name>/OnSessionOpen`, `action/<name>`, `close`."""
        ...


class Silent:
    """An observer that takes no notice."""

    def committed(self, plan: Plan) -> None:
        """Take no notice."""

    def phase(self, name: str, begin: bool) -> None:
        """Take no notice."""


def run_cycle(
    snapshot: Snapshot,
    configuration: Configuration,
    *,
    registry: Registry,
    seed: int = 0,
    now: float,
    memory: Memory | None = None,
    outside: Mapping[str, Outside] | None = None,
    observer: Observer | None = None,
    settled: Settled | None = None,
    tracing: Tracing | None = None,
    budgets: Budgets | None = None,
    shadows: Shadows | None = None,
) -> tuple[CycleReport, Memory]:
    """Decide once.

    Args:
        snapshot: The cluster.
        configuration: Actions, tiers and arguments; already checked. One profile decides, about its jobs.
        registry: Registry of plugins and actions.
        seed: Seed of every random choice.
        now: The moment, seconds since 1970.
        memory: Memory from the last cycle; a new one if None.
        outside: Services that plugins query beyond the snapshot (extenders), by plugin instance.
        observer: Receives plans as they are committed, and phase marks.
        settled: A cache of jobs that need no second look; changes no decision.
        tracing: Collects examinations of pods. It asks plugins further questions, so the plans of a cycle with tracing
            are not carried out.
        budgets: Measures the calls of external plugins; None for no limit.
        shadows: Receives the answers of the plugins in shadow mode, which are not opened without it. It asks further
            questions, too.

    Returns:
        The report, and the memory for the next cycle.
    """
    memory = memory or Memory()
    observer = observer or Silent()
    settled = settled or Settled()
    cycle = memory.cycle + 1
    if tracing is None and memory.is_quiet(snapshot.generation, configuration.generation, now):
        return empty_report(cycle, configuration.generation), msgspec.structs.replace(memory, cycle=cycle)
    profile = configuration.deciding
    session = Session(
        snapshot,
        profile,
        cycle=cycle,
        generation=configuration.generation,
        now=now,
        seed=seed,
        outside=outside or {},
        committed=observer.committed,
        settled=settled,
        runs=memory.runs,
        tracing=tracing,
        ownership=OwnJobs(snapshot, configuration) if len(configuration.profiles) > 1 else None,
        budgets=budgets,
        shadows=shadows,
    )
    if tracing is not None:
        begin_tracing(session, tracing, profile=profile.name if len(configuration.profiles) > 1 else "")
    session.report.lacking_pods_since = SealedDict(memory.lacking_pods_since)
    session.report.rounds = SealedDict(memory.rounds)
    session.report.admission_rounds = SealedDict(memory.admission_rounds)
    session.report.turns = SealedDict(memory.turns)
    watches_clock = open_plugins(session, profile, registry, observer)
    if shadows is not None:
        _open_shadows(session, profile, registry, shadows, settled=settled, budgets=budgets)
    next_end = hold_capacity(session, memory.held)
    skipped = memory.skipped_turns + 1 if skip_turns(session, memory) else 0
    _run_actions(session, profile, registry, observer)
    if tracing is not None:
        end_tracing(session, tracing)
    report, grace_ends = _close(session, settled, observer)
    moments = (next_end, grace_ends, session.report.wakes)
    ends = min((moment for moment in moments if moment is not None), default=None)
    return report, _memory_of(session, report, quiet_until=ends, watches_clock=watches_clock, skipped_turns=skipped)


def _open_shadows(
    session: Session,
    profile: Profile,
    registry: Registry,
    shadows: Shadows,
    *,
    settled: Settled,
    budgets: Budgets | None,
) -> None:
    """Open the plugins in shadow mode. Each has a session with functions, a report and a scratch of its own."""
    caller = session.extensions.caller
    opened = []
    for option in profile.shadows:
        own = copy(session)
        own.extensions = extensions = ShadowExtensions(option, profile, caller, budgets)
        own.report = SessionReport(session.snapshot, settled, caller, session.report.runs)
        own.scratch = Scratch(caller)
        opening = _Opening(option, registry, own)
        extensions.open_plugin(option, opening, is_checked=registry.is_from_outside(option.plugin), may=lambda _: False)
        extensions.seal()
        opened.append(
            ShadowPlugin(
                option.instance,
                extensions,
                nodes=session.nodes,
                snapshot=session.snapshot,
                reserved=session.reserved,
            )
        )
    shadows.follow(opened, queues=session.queues, candidates=session.candidates)


def _memory_of(
    session: Session, report: CycleReport, *, quiet_until: float | None, watches_clock: bool, skipped_turns: int
) -> Memory:
    decided = bool(
        report.plans
        or report.group_statuses
        or report.native_statuses
        or report.pod_conditions
        or session.held.given_up
    )
    # a job that only waits for promised capacity is quiet; other waiting places are decided again each time
    waits = any(not session.held.is_held(task) for places in report.pipelined.values() for task in places)
    quiet_now = not (decided or waits or watches_clock or _owes_turns(session))
    return Memory(
        cycle=session.cycle,
        quiet_snapshot=session.snapshot.generation if quiet_now else -1,
        quiet_configuration=session.generation if quiet_now else -1,
        quiet_until=quiet_until if quiet_now else None,
        held=(*session.held.after(), *recorded(session)),
        runs=session.report.runs,
        lacking_pods_since=session.report.lacking_pods_since,
        rounds=session.jobs.window.rounds,
        admission_rounds=session.jobs.window.admission_rounds,
        skipped_turns=skipped_turns,
        waiting_beside_turns=waiting_beside_turns(session),
        turns={action: turns for action, turns in session.report.turns.items() if turns},
    )


def _owes_turns(session: Session) -> bool:
    """Return whether some job has had no turn on this snapshot."""
    if not session.jobs.window.is_whole(session.snapshot.generation):
        return True
    turns = (turn for by_job in session.report.turns.values() for turn in by_job.values())
    return any(turn.passed or turn.domains or turn.snapshot != session.snapshot.generation for turn in turns)


@contextmanager
def _marked(observer: Observer, name: str) -> Iterator[None]:
    observer.phase(name, True)
    try:
        yield
    finally:
        observer.phase(name, False)


def open_plugins(session: Session, profile: Profile, registry: Registry, observer: Observer) -> bool:
    """Open all plugins. Return whether one watches the clock, so that equal snapshots may decide differently."""
    watches_clock = False
    with _marked(observer, "open"):
        for option in profile.plugins:
            with _marked(observer, f"plugin/{option.instance}/OnSessionOpen"):
                opening = _Opening(option, registry, session)
                is_from_outside = registry.is_from_outside(option.plugin)
                session.extensions.open_plugin(option, opening, is_checked=is_from_outside, may=opening.may)
            watches_clock = watches_clock or opening.watches_clock
        session.extensions.seal()
    return watches_clock


class _Opening:
    """Builds a plugin and opens it, all of which is code of the plugin."""

    def __init__(self, option: PluginOption, registry: Registry, session: Session) -> None:
        self._option, self._registry, self._session = option, registry, session
        self._plugin: Plugin | None = None
        """None before it is made."""
        self.watches_clock = True
        """Value assumed for a plugin that fails before it declares this."""

    def may(self, what: Ability) -> bool:
        """Return whether the plugin may do something, unless its class or the plugin itself denies it."""
        is_denied = self._plugin is not None and says_no(self._plugin, what)
        return not is_denied and self._registry.may(self._option.plugin, what)

    def __call__(self) -> None:
        """Raise whatever the plugin raises."""
        session = self._session
        plugin = self._plugin = self._registry.build_plugin(self._option)
        self.watches_clock = plugin.watches_clock
        plugin.on_session_open(session)
        closes = type(plugin).on_session_close is not Plugin.on_session_close
        if closes and self._option.instance not in session.extensions.failures:
            session.extensions.on_close(self._option.instance, partial(plugin.on_session_close, session))


def _run_actions(session: Session, profile: Profile, registry: Registry, observer: Observer) -> None:
    for number, name in enumerate(profile.actions, start=1):
        session.action, session.following_actions = name, profile.actions[number:]
        with _marked(observer, f"action/{name}"):
            _run_action(session, name, profile.action_arguments.get(name, {}), registry)
    with _marked(observer, "lend"):
        lend_idle_capacity(session)
    session.action = ""


def _run_action(session: Session, name: str, arguments: Mapping[str, Any], registry: Registry) -> None:
    """Run one action; one from outside that fails is named, its open statements are undone, and the next one runs."""
    try:
        with session.extensions.acting(f"action {name}") if registry.is_action_from_outside(name) else nullcontext():
            registry.build_action(name, arguments).execute(session)
    except BaseException as error:
        if not registry.is_action_from_outside(name):
            raise
        session.extensions.note_failure(f"action {name}", error)


def _close(session: Session, settled: Settled, observer: Observer) -> tuple[CycleReport, float | None]:
    def hook(plugin: str, call: Callable[[], None]) -> None:
        with _marked(observer, f"plugin/{plugin}/OnSessionClose"):
            call()

    with _marked(observer, "close"):
        note_permanent_causes(session)
        find_blocking_jobs(session)
        session.jobs.recall_passed_over()
        show_unplaced(session)
        session.extensions.close_plugins(hook)
        record_ignored_terms(session)
        closing = Closing(session, settled)
        return _report(session, closing), closing.grace_ends


def _report(session: Session, closing: Closing) -> CycleReport:
    known = sorted(session.jobs.known().items())
    refusals, task_refusals = reasons_of(session)
    return CycleReport(
        cycle=session.cycle,
        configuration=session.generation,
        plans=tuple(session.plans),
        pipelined={job_id: places for job_id, job in known if (places := _pipelined(job))},
        phases=closing.phases,
        group_statuses=tuple(closing.group_statuses),
        native_statuses=tuple(closing.native_statuses),
        pod_conditions=tuple(closing.pod_conditions),
        queue_statuses=closing.queue_statuses,
        events=tuple(session.report.events),
        refusals=refusals,
        task_refusals=task_refusals,
        vetoes={task_id: tuple(vetoes.values()) for task_id, vetoes in sorted(session.evictions.vetoes.items())},
        shares=session.report.shares,
        status_counts={
            job_id: {TaskStatus(status).label: count for status, count in enumerate(job.counts) if count}
            for job_id, job in known
        },
        samples=tuple(session.report.samples) + tuple(_failure_samples(session)),
        failures={plugin: session.extensions.failures[plugin] for plugin in sorted(session.extensions.failures)},
        quotas=tuple(session.report.quotas),
        gates_lifted=tuple(task.id for task in session.report.gates_lifted),
    )


def _pipelined(job: SessionJob) -> dict[TaskId, NodeName]:
    if not job.counts[TaskStatus.PIPELINED]:
        return {}
    return {task.id: task.node for task in job.in_status(TaskStatus.PIPELINED) if task.node is not None}


def _failure_samples(session: Session) -> Iterator[Sample]:
    for plugin in sorted(session.extensions.failures):
        yield Sample(metric="plugin_failures_total", labels=(("plugin", plugin),), value=1.0, kind="counter")
    for plugin in session.extensions.over_budget:
        yield Sample(metric="plugin_over_budget_total", labels=(("plugin", plugin),), value=1.0, kind="counter")


def empty_report(cycle: int, generation: int) -> CycleReport:
    """Return an empty report of a cycle."""
    nothing: dict[JobId, Any] = {}
    return CycleReport(
        cycle=cycle,
        configuration=generation,
        plans=(),
        pipelined=nothing,
        phases=nothing,
        group_statuses=(),
        pod_conditions=(),
        queue_statuses=(),
        events=(),
        refusals=nothing,
        task_refusals={},
        vetoes={},
        shares=nothing,
        status_counts=nothing,
        samples=(),
    )
