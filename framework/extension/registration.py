"""Registration: the callbacks of a session's plugins, by extension point and in the order of the configuration.

Plugins register while they are opened. Questions may be asked in that time too; the plugins opened so far answer, and a
later registration is heeded from then on. After the last plugin is opened a registration is an error of its plugin.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pyroclast.framework.configuration import PluginOption, Profile
from pyroclast.framework.extension import uses
from pyroclast.framework.extension.absent_plugins import in_place_of
from pyroclast.framework.extension.caller import Caller
from pyroclast.framework.extension.fences import Guard, LeftOutError
from pyroclast.framework.extension.last import LAST
from pyroclast.framework.extension.ledgers import Ledger
from pyroclast.framework.extension.outside import CycleCut
from pyroclast.framework.extension.points import PREDICATE, QUEUE_SURPLUS, Locality, Point, Registered
from pyroclast.framework.extension.votes import failure_of
from pyroclast.framework.placement.grouped_scores import GroupedScores
from pyroclast.model.arrays import FloatArray
from pyroclast.model.errors import PyroclastError
from pyroclast.model.ids import QueueName, TaskId
from pyroclast.model.plan import Preparation
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.tasks import Task

if TYPE_CHECKING:
    from pyroclast.framework.session.jobs import SessionJob
    from pyroclast.framework.session.session import Session

__all__ = ["BindingRefused", "LateRegistrationError", "Registering"]

Anything = TypeVar("Anything")


class BindingRefused(Exception):  # noqa: N818  # a plugin's answer, not an error of ours
    """A plugin failed that prepares a binding."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class LateRegistrationError(PyroclastError):
    """A plugin registered something after all plugins were opened; remedy: register in `on_session_open`."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} was registered after the session was opened; register it in on_session_open")


class Registering:
    """The functions, ledgers and hooks of the plugins of one session."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.ledgers: tuple[tuple[str, Ledger], ...] = ()
        """Ledgers with their plugins, in the order of registration; no list, for nobody may take one out."""
        self._registered: dict[str, dict[str, dict[str, Registered[Any]]]] = {}
        """By point, plugin and part."""
        self._tiers: dict[str, tuple[tuple[Registered[Any], ...], ...]] = {}
        self._functions: dict[str, tuple[Registered[Any], ...]] = {}
        self._option: PluginOption | None = None
        self._caller = Caller()
        self._guard: Guard | None = None
        """Of the plugin that is registering, where it is from outside; built-in ones are typed and asked directly."""
        self._close_hooks: list[tuple[str, Callable[[], None]]] = []
        self._opened_hooks: list[tuple[str, Callable[[], None]]] = []
        self._preparers: list[tuple[str, Callable[[Task, int], Sequence[Preparation]]]] = []
        self._annotators: list[tuple[str, Callable[[Task, int], Mapping[str, str]]]] = []
        self._plan_annotators: list[tuple[str, Callable[[Sequence[Task]], Mapping[TaskId, Mapping[str, str]]]]] = []
        self._delegates: list[tuple[str, Callable[[Task, int], bool]]] = []
        self._serving: list[tuple[str, str]] = []
        """Plugins, and the required rules that they serve."""
        self._failures: dict[str, Refusal] = {}
        self._is_sealed = False

    def seal(self) -> None:
        """End the time of registering."""
        self._caller.for_actions("seal")
        self._is_sealed = True

    def register(
        self,
        point: Point[Any],
        plugin: str,
        function: Callable[..., Any],
        *,
        locality: Locality | None = None,
        reasons: Sequence[Reason] | Callable[[Task], Sequence[Reason]] = (),
        normalise: Callable[[FloatArray], FloatArray] | None = None,
        cares: Callable[[Task], bool] | None = None,
        headroom: Callable[[Queue, Task], int] | None = None,
        lent_headroom: Callable[[Queue, Task], int] | None = None,
        kind: Callable[[Task], Any] | None = None,
        missing: Callable[[Any], int] | None = None,
        alike: bool = False,
        within_job: bool = False,
        in_turn: bool = False,
        together: Callable[..., Any] | None = None,
        many: Callable[[Task, Sequence[Any]], Sequence[Any]] | None = None,
        grouped: Callable[[Task], GroupedScores] | None = None,
        queues: Callable[["SessionJob", Sequence[int]], Collection[QueueName]] | None = None,
        part: str = "",
    ) -> None:
        """Let a plugin answer at a point, for as long as the session is open.

        Args:
            point: The question.
            plugin: Name of the plugin, as it will appear in refusals; a plugin that stands in the configuration under
                an instance name is known by that.
            function: Answers; its shape is the point's. A later registration of the same plugin and part replaces the
                earlier.
            locality: For `PREDICATE` and `NODE_ORDER` over arrays: what the answer depends on.
            reasons: For predicates over arrays: the n-th verdict (from 1) means the n-th reason. A function gives them
                where they name parts of a task; they must be the same for all tasks of a template.
            normalise: For scores over arrays: rescales raw scores over the candidates.
            cares: For locality `GLOBAL`: whether a task is any concern of the function.
            headroom: For `ALLOCATABLE`: how many more tasks like this one the queue may take, so that runs of equal
                tasks need not ask one by one.
            lent_headroom: For `ALLOCATABLE` that gives refusals which are `lendable`: how many the queue may take where
                these do not count.
            kind: For `ALLOCATABLE`: what of a task, beside its template, the answer and the headroom depend on, where
                something does: tasks of one kind are judged alike.
            missing: For `JOB_READY` and `SUB_JOB_READY`: how many more placements the job or sub-job needs at least.
            grouped: For scores of locality `GLOBAL`: the same scores by group of nodes, so that runs of equal tasks are
                placed in one go; asked anew for each run.
            alike: For points that choose victims: the answer depends on candidates, on what is allocated, and of the
                beneficiary on its queue, zone, priorities, allocation and request alone, so that of many beneficiaries
                that are equal in these one is enough to ask for.
            within_job: For `TASK_ORDER`: keys tell tasks of one job apart, and are not compared with those of others.
            in_turn: For points that choose victims: whether a candidate may go depends on it and on those before it, so
                that the first of many can be asked about alone.
            together: For points that choose victims, where it counts how many go: answers instead of `function` where a
                gang goes whole, with the same arguments and all of that gang; others judge each member as if it went
                first.
            many: For `PREDICATE` over a task and a node: the same question about several nodes in one go, where asking
                costs more than answering; an answer for each of them, in their order.
            queues: For `RECLAIMABLE`: from which queues tasks could be taken for a job's minimum, base units by row;
                asked at queue admission, when the job may have no pods yet. Of jobs that are equal in queue, priority
                and minimum one is enough to ask for.
            part: Names one of several functions of the plugin at this point. They stand in the order of registration
                under the plugin's name and flag, each with its own locality and reasons.

        Raises:
            LateRegistrationError: All plugins are opened.
        """
        if self._guard is not None:
            others = {
                "normalise": normalise,
                "cares": cares,
                "headroom": headroom,
                "lent_headroom": lent_headroom,
                "kind": kind,
                "missing": missing,
                "together": together,
                "many": many,
                "grouped": grouped,
                "queues": queues,
            }
            read = partial(uses.read_registration, locality=locality, reasons=reasons, part=part)
            self._guard.read("registrations", read, point, plugin, function, others)
        self._refuse_late(plugin, f"a function for {point.name}")
        self._tiers.pop(point.name, None)
        self._functions.pop(point.name, None)
        name = self._option.instance if self._option is not None else plugin
        registered = Registered(
            name,
            function,
            locality,
            () if callable(reasons) else tuple(reasons),
            normalise,
            cares,
            headroom,
            lent_headroom,
            grouped,
            kind,
            missing,
            alike,
            within_job,
            in_turn,
            many,
            together,
            queues,
            reasons if callable(reasons) else None,
        )
        if self._guard is not None:
            registered = _guarded(self._guard, point, registered)
        self._registered.setdefault(point.name, {}).setdefault(name, {})[part] = registered

    def register_rule(self, plugin: str, rule: str) -> None:
        """Say that a plugin keeps tasks to a required rule, one of `model.required_rules`; else tasks with it wait."""
        self._read_registration(uses.read_rule, plugin, rule)
        self._refuse_late(plugin, "a required rule")
        self._serving.append((self._registrant(plugin), rule))

    def serves(self, rule: str) -> bool:
        """Return whether a plugin keeps tasks to a required rule."""
        return any(rule == served for _, served in self._serving)

    def register_ledger(self, plugin: str, ledger: Ledger) -> None:
        """Show a ledger all placements and evictions of the session."""
        self._read_registration(uses.read_ledger, plugin, ledger)
        self._refuse_late(plugin, "a ledger")
        guarded = ledger if self._guard is None else self._guard.ledger(ledger)
        self.ledgers = (*self.ledgers, (self._registrant(plugin), guarded))

    def chooses_for(self, task: Task) -> bool:
        """Tell whether some ledger chooses what a task gets where it is placed: see `Ledger`."""
        choosing = ((plugin, getattr(ledger, "chooses_for", None)) for plugin, ledger in self.ledgers)
        return any(self._chooses(plugin, chooses, task) for plugin, chooses in choosing if chooses is not None)

    def _chooses(self, plugin: str, chooses: Callable[[Task], bool], task: Task) -> bool:
        """Ask one ledger; where it fails its choice is tried out once more than needed."""
        try:
            return chooses(task)
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
            self.note_failure(plugin, error)
            return True

    def register_preparations(self, plugin: str, prepare: Callable[[Task, int], Sequence[Preparation]]) -> None:
        """Let a plugin say what must be done before a task may be bound to the node of a column."""
        self._read_registration(uses.read_function, plugin, prepare)
        self._refuse_late(plugin, "preparations")
        self._preparers.append((self._registrant(plugin), self._checked("preparations", prepare)))

    def register_annotations(self, plugin: str, annotate: Callable[[Task, int], Mapping[str, str]]) -> None:
        """Let a plugin add annotations to the binding of a task to the node of a column."""
        self._read_registration(uses.read_function, plugin, annotate)
        self._refuse_late(plugin, "annotations")
        self._annotators.append((self._registrant(plugin), self._checked("annotations", annotate)))

    def register_plan_annotations(
        self, plugin: str, annotate: Callable[[Sequence[Task]], Mapping[TaskId, Mapping[str, str]]]
    ) -> None:
        """Let a plugin add annotations to the bindings of tasks, by task; told of all that one plan binds."""
        self._read_registration(uses.read_function, plugin, annotate)
        self._refuse_late(plugin, "annotations of plans")
        self._plan_annotators.append((self._registrant(plugin), self._checked("plan_annotations", annotate)))

    def register_delegate(self, plugin: str, takes: Callable[[Task, int], bool]) -> None:
        """Let a plugin say which tasks somebody else binds to the node of a column, known by the plugin's name."""
        self._read_registration(uses.read_function, plugin, takes)
        self._refuse_late(plugin, "a delegate")
        self._delegates.append((self._registrant(plugin), self._checked("delegate", takes)))

    def _read_registration(self, reader: Callable[[Any, Any], None], plugin: str, registered: Any) -> None:
        """Check what the running plugin registers, where it is from outside."""
        guard = self._caller.guard
        if guard is not None:
            guard.read("registrations", reader, plugin, registered)

    @contextmanager
    def acting(self, name: str) -> Iterator[None]:
        """Let an action from outside run; what it tells the session is read."""
        with Guard(partial(self.note_failure, name), self._caller, acts=True).running():
            yield

    def _checked(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of the plugin that is registering, with its answers read where it is from outside."""
        return function if self._guard is None else self._guard.of_part(part, function)

    def _refuse_late(self, plugin: str, what: str) -> None:
        if self._is_sealed:
            error = LateRegistrationError(what)
            self.note_failure(plugin, error)  # also where the plugin swallows the exception
            raise error

    def _registrant(self, plugin: str) -> str:
        """Return under which name a plugin registers: what others share is nobody's and keeps the name it was given."""
        option = self._option
        return option.instance if option is not None and option.plugin == plugin else plugin

    def annotations_for(self, task: Task, column: int) -> dict[str, str]:
        """Return what the binding of a task to the node of a column shall carry; raises `BindingRefused`."""
        if not self._annotators:
            return {}
        told = [self._ask_for_binding(each, task, column) for each in self._annotators]
        return {key: value for each in told for key, value in each.items()}

    def annotations_for_plan(self, tasks: Sequence[Task]) -> dict[TaskId, dict[str, str]]:
        """Return by task what bindings shall carry beside that, of all that a plan binds; raises `BindingRefused`."""
        told: dict[TaskId, dict[str, str]] = {}
        for each in self._plan_annotators if tasks else ():
            for task_id, annotations in self._ask_for_binding(each, tasks).items():
                told.setdefault(task_id, {}).update(annotations)
        return told

    def preparations_for(self, task: Task, column: int) -> tuple[Preparation, ...]:
        """Return what must be done before a task may be bound to the node of a column; raises `BindingRefused`."""
        steps: tuple[Preparation, ...] = ()
        for each in self._preparers:
            told = self._ask_for_binding(each, task, column)
            if told:
                steps = (*steps, *told)
        return steps

    def delegate_for(self, task: Task, column: int) -> str:
        """Return who binds a task in the scheduler's place, the first that takes it, or ""; raises `BindingRefused`."""
        return next((each[0] for each in self._delegates if self._ask_for_binding(each, task, column)), "")

    def _ask_for_binding(self, registered: tuple[str, Callable[..., Any]], *about: Any) -> Any:
        plugin, ask = registered
        try:
            return ask(*about)
        except Exception as error:
            raise BindingRefused(self.note_failure(plugin, error)) from error

    def on_close(self, plugin: str, hook: Callable[[], None]) -> None:
        """Call back when the session closes, in the order of the configuration."""
        self._read_registration(uses.read_function, plugin, hook)
        self._close_hooks.append((self._registrant(plugin), self._checked("hook", hook)))

    def on_opened(self, plugin: str, hook: Callable[[], None]) -> None:
        """Call back when all plugins are opened: for work that asks other plugins."""
        self._read_registration(uses.read_function, plugin, hook)
        self._opened_hooks.append((self._registrant(plugin), self._checked("hook", hook)))

    def _after_opening(self) -> None:
        """Run what plugins asked for with `on_opened`, in the order of the configuration."""
        for plugin, hook in self._opened_hooks:
            try:
                hook()
            except Exception as error:  # noqa: BLE001  # a broken plugin must not end the cycle
                self.note_failure(plugin, error)

    def open_plugin(
        self,
        option: PluginOption,
        opening: Callable[["Session"], None],
        *,
        is_checked: bool = False,
        guards_victims: bool = True,
        filters_nodes: bool = True,
    ) -> None:
        """Let one plugin register; one that fails is left out and named, the others go on.

        Args:
            option: Its place in the configuration.
            opening: Lets it register.
            is_checked: Whether its answers are checked: those of plugins from outside.
            guards_victims: Whether it may spare victims, so that where it fails none go that it could have spared.
            filters_nodes: Whether it may have predicates, so that where it fails no pod is placed.
        """
        self._caller.for_actions("open_plugin")
        self._option = option
        self._guard = Guard(partial(self.note_failure, option.instance), self._caller) if is_checked else None
        try:
            with self._guard.running() if self._guard is not None else nullcontext():
                opening(self)  # type: ignore[arg-type]  # every registering is part of a session
        except BaseException as error:  # a broken plugin must not end the cycle
            if not (is_checked or isinstance(error, Exception)):
                raise  # somebody ended the program while a plugin of ours was opened
            self.note_failure(option.instance, error)
            self._leave_out(option.instance)
            absent = in_place_of(option, guards_victims=guards_victims, filters_nodes=filters_nodes)
            for point, each in absent.items():
                self._registered.setdefault(point, {})[option.instance] = {"": each}
                self._tiers.pop(point, None)
                self._functions.pop(point, None)
        finally:
            self._option = self._guard = None

    def _leave_out(self, instance: str) -> None:
        """Forget what a plugin registered before it failed: half a plugin answers worse than none."""
        for by_plugin in self._registered.values():
            by_plugin.pop(instance, None)
        self.ledgers = tuple(each for each in self.ledgers if each[0] != instance)
        _forget(self._preparers, instance)
        _forget(self._annotators, instance)
        _forget(self._plan_annotators, instance)
        _forget(self._delegates, instance)
        _forget(self._serving, instance)
        _forget(self._close_hooks, instance)
        _forget(self._opened_hooks, instance)

    def note_failure(self, plugin: str, error: BaseException) -> Refusal:
        """Note that a plugin raised something; returns the refusal that it amounts to.

        Raises:
            CycleCut: That was raised: the process is about to end, which is no failure of the plugin.
        """
        if isinstance(error, CycleCut):
            raise error
        if isinstance(error, LeftOutError) and plugin in self._failures:
            return self._failures[plugin]
        refusal = failure_of(plugin, error)
        self._failures.setdefault(plugin, refusal)
        return refusal

    @property
    def option(self) -> PluginOption:
        """The configuration of the plugin that is registering."""
        assert self._option is not None, "asked outside a plugin's opening"
        return self._option

    @property
    def failures(self) -> Mapping[str, Refusal]:
        """Plugins that failed in this session, by instance name, with their first error."""
        return MappingProxyType(self._failures)

    def tiers(self, point: Point[Any]) -> tuple[tuple[Registered[Any], ...], ...]:
        """Return the functions of a point by tier, in the order of the configuration, without those switched off."""
        tiers = self._tiers.get(point.name)
        if tiers is None:
            known = self._registered.get(point.name, {})
            tiers = tuple(
                tuple(
                    each
                    for option in tier
                    if point.flag is None or option.enabled(point.flag)
                    for each in known.get(option.instance, {}).values()
                )
                for tier in self.profile.tiers
            )
            tiers = self._tiers[point.name] = tuple(tier for tier in tiers if tier)
        return tiers

    def functions(self, point: Point[Any]) -> tuple[Registered[Any], ...]:
        """Return the functions of a point in the order of the configuration."""
        functions = self._functions.get(point.name)
        if functions is None:
            functions = self._functions[point.name] = tuple(each for tier in self.tiers(point) for each in tier)
        return functions

    def ask_or(
        self, each: Registered[Any], otherwise: Any, *arguments: Any, asking: Callable[..., Any] | None = None
    ) -> Any:
        """Ask any function, or another one of the same registration; a failing one is noted and gives `otherwise`."""
        try:
            return each.function(*arguments) if asking is None else asking(*arguments)
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
            self.note_failure(each.plugin, error)
            return otherwise

    def keys(self, point: Point[Any], subject: Any, *, across_jobs: bool = False) -> list[Any]:
        """Ask the functions of an ordering point for their keys; one that fails puts what it was asked about last.

        Args:
            point: The order.
            subject: What is ordered.
            across_jobs: Whether functions are left out whose keys mean something within one job alone.
        """
        functions: Sequence[Registered[Any]] = self.functions(point)
        if across_jobs:
            functions = [each for each in functions if not each.within_job]
        try:
            return [each.function(subject) for each in functions]
        except Exception:  # noqa: BLE001  # asked again one by one, which finds out who fails
            return [self.ask_or(each, LAST, subject) for each in functions]

    def close_plugins(self, observed: Callable[[str, Callable[[], None]], None]) -> None:
        """Call the close hooks in the order of registration; `observed` runs each under its plugin's name."""
        self._caller.for_actions("close_plugins")
        for plugin, hook in self._close_hooks:
            try:
                observed(plugin, hook)
            except Exception as error:  # noqa: BLE001  # a broken plugin must not end the cycle
                self.note_failure(plugin, error)


def _guarded(guard: Guard, point: Point[Any], each: Registered[Any]) -> Registered[Any]:
    """Return a registration whose answers are read."""
    if point is PREDICATE and not each.reasons:
        each = replace(each, reasons=(Reason(f"refused by {each.plugin}"),))  # what verdict 1 means without reasons
    reasons = None if each.reasons_of is not None else len(each.reasons)
    together = "together_limit" if point is QUEUE_SURPLUS else "together"
    parts = {part: guard.of_part(part, getattr(each, part)) for part in _PARTS}
    parts["together"] = guard.of_part(together, each.together)
    return replace(each, function=guard.of_point(point, each.function, each.locality, reasons), **parts)


_PARTS: Final = (
    "normalise",
    "cares",
    "headroom",
    "lent_headroom",
    "grouped",
    "kind",
    "missing",
    "many",
    "queues",
    "reasons_of",
)
"""Functions of a registration beside that of the point."""


def _forget(registered: list[tuple[str, Anything]], instance: str) -> None:
    registered[:] = [each for each in registered if each[0] != instance]
