"""Registration: the callbacks of a session's plugins, by extension point and in the order of the configuration.

Plugins register while they are opened. Questions may be asked in that time too; the plugins opened so far answer, and a
later registration is heeded from then on. After the last plugin is opened a registration is an error of its plugin.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeVar, Unpack

from pyroclast.framework.configuration import PluginOption, Profile
from pyroclast.framework.extension import uses
from pyroclast.framework.extension.absent_plugins import in_place_of
from pyroclast.framework.extension.allocators import AllocatorLedger
from pyroclast.framework.extension.budgets import Budgets, OverBudgetError
from pyroclast.framework.extension.contract import (
    PREDICATE,
    QUEUE_SURPLUS,
    Ability,
    Allocator,
    F,
    Ledger,
    Locality,
    NumaHints,
    NumaPlan,
    Point,
    Registered,
    RegistrationOptions,
)
from pyroclast.framework.extension.fences import Guard, LeftOutError
from pyroclast.framework.extension.outside import CycleCut
from pyroclast.framework.extension.votes import LAST, failure_of
from pyroclast.framework.state.caller import Caller
from pyroclast.model.errors import PyroclastError
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Preparation
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.sealed import SealedList
from pyroclast.model.tasks import Task

__all__ = ["BindingRefused", "Extensions", "LateRegistrationError"]

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


class Extensions:
    """The functions, ledgers and hooks of the plugins of one session."""

    def __init__(self, profile: Profile, budgets: Budgets | None = None) -> None:
        self.profile = profile
        self._budgets = budgets
        self._ledgers: tuple[tuple[str, Ledger], ...] = ()
        """Ledgers with their plugins, in the order of registration."""
        self._choosing: tuple[tuple[str, Ledger], ...] = ()
        """Those of them that choose what tasks get."""
        self._registered: dict[str, dict[str, dict[str, Registered[Any]]]] = {}
        """Registrations by point, plugin and part."""
        self._tiers: dict[str, tuple[tuple[Registered[Any], ...], ...]] = {}
        self._functions: dict[str, tuple[Registered[Any], ...]] = {}
        self._option: PluginOption | None = None
        self.caller = Caller()
        self._guard: Guard | None = None
        """Guard of the external plugin that is registering. Built-in plugins are type-checked and called directly."""
        self._close_hooks: list[tuple[str, Callable[[], None]]] = []
        self._opened_hooks: list[tuple[str, Callable[[], None]]] = []
        self._preparers: list[tuple[str, Callable[[Task, int], Sequence[Preparation]]]] = []
        self._annotators: list[tuple[str, Callable[[Task, int], Mapping[str, str]]]] = []
        self._labellers: list[tuple[str, Callable[[Task, int], Mapping[str, str]]]] = []
        self._plan_annotators: list[tuple[str, Callable[[Sequence[Task]], Mapping[TaskId, Mapping[str, str]]]]] = []
        self._delegates: list[tuple[str, Callable[[Task, int], bool]]] = []
        self._numa_hints: list[tuple[str, NumaHints]] = []
        self._numa_plans: list[tuple[str, NumaPlan]] = []
        self._serving: list[tuple[str, str]] = []
        """Plugins, and the required rules that they serve."""
        self._failures: dict[str, Refusal] = {}
        self.over_budget: SealedList[str] = SealedList()
        """Plugins that used up their time budgets."""
        self._observers: list[Callable[[], None]] = []
        """Called when other functions answer than before."""
        self._is_sealed = False

    def seal(self) -> None:
        """End the time of registering, and run what plugins asked for with `on_opened`."""
        self.caller.for_actions("seal")
        self._is_sealed = True
        self._after_opening()

    def observe(self, changed: Callable[[], None]) -> None:
        """Call back whenever other functions answer than before, so that what was answered can be dropped."""
        self._observers.append(changed)

    def _forget_answers(self, point: str) -> None:
        self._tiers.pop(point, None)
        self._functions.pop(point, None)
        for changed in self._observers:
            changed()

    def register(
        self, point: Point[F], plugin: str, function: F, *, part: str = "", **options: Unpack[RegistrationOptions]
    ) -> None:
        """Register a function of a plugin at a point, for as long as the session is open.

        Args:
            point: The question; its Protocol documents when it is called and what its answers mean.
            plugin: Name of the plugin, as it will appear in refusals; a plugin that stands in the configuration under
                an instance name is known by that.
            function: Answers. A later registration of the same plugin and part replaces the earlier.
            part: Names one of several functions of the plugin at this point. They stand in the order of registration
                under the plugin's name and flag, each with its own options.
            options: Options of the function, see `RegistrationOptions`.

        Raises:
            LateRegistrationError: All plugins are opened.
        """
        if self._guard is not None:
            read = partial(uses.read_registration, part=part)
            self._guard.read("registrations", read, point, plugin, function, options)
        self._refuse_late(plugin, f"a function for {point.name}")
        name = self._option.instance if self._option is not None else plugin
        registered = _registered(name, function, options, part)
        if self._guard is not None:
            registered = _guarded(self._guard, point, registered)
        self._registered.setdefault(point.name, {}).setdefault(name, {})[part] = registered
        self._forget_answers(point.name)

    def register_rule(self, plugin: str, rule: str) -> None:
        """Declare that a plugin enforces one of `model.required_rules`. Tasks with an unserved rule wait."""
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
        self._set_ledgers((*self._ledgers, (self._registrant(plugin), guarded)))

    def all_ledgers(self) -> Sequence[tuple[str, Ledger]]:
        """Return the ledgers with their plugins, in the order of registration. Statements alone change them.

        Raises:
            WrongUseError: A plugin from outside asks while it is opened or called.
        """
        self.caller.for_actions("all_ledgers")
        if self._guard is not None:
            raise uses.WrongUseError("all_ledgers returns what other plugins count, which a plugin does not read")
        return self._ledgers

    def _set_ledgers(self, ledgers: tuple[tuple[str, Ledger], ...]) -> None:
        self._ledgers = ledgers
        self._choosing = tuple(each for each in ledgers if type(each[1]).chooses_for is not Ledger.chooses_for)

    def chooses_for(self, task: Task) -> bool:
        """Return whether some ledger chooses what a task gets where it is placed: see `Ledger`."""
        return any(self._chooses(plugin, ledger, task) for plugin, ledger in self._choosing)

    def _chooses(self, plugin: str, ledger: Ledger, task: Task) -> bool:
        """Query one ledger. If it fails, its choice is tried once more than needed."""
        try:
            return ledger.chooses_for(task)
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
            self.note_failure(plugin, error)
            return True

    def register_preparations(self, plugin: str, prepare: Callable[[Task, int], Sequence[Preparation]]) -> None:
        """Register a function with the preparations before a task may be bound to the node of a column."""
        self._read_registration(uses.read_function, plugin, prepare)
        self._refuse_late(plugin, "preparations")
        self._preparers.append((self._registrant(plugin), self._checked("preparations", prepare)))

    def register_annotations(self, plugin: str, annotate: Callable[[Task, int], Mapping[str, str]]) -> None:
        """Let a plugin add annotations to the binding of a task to the node of a column."""
        self._read_registration(uses.read_function, plugin, annotate)
        self._refuse_late(plugin, "annotations")
        self._annotators.append((self._registrant(plugin), self._checked("annotations", annotate)))

    def register_labels(self, plugin: str, label: Callable[[Task, int], Mapping[str, str]]) -> None:
        """Let a plugin add labels to a pod before it is bound to the node of a column.

        Labels and annotations of all plugins are one patch of the pod. It is undone if the pod is not bound.
        """
        self._read_registration(uses.read_function, plugin, label)
        self._refuse_late(plugin, "labels")
        self._labellers.append((self._registrant(plugin), self._checked("labels", label)))

    def register_plan_annotations(
        self, plugin: str, annotate: Callable[[Sequence[Task]], Mapping[TaskId, Mapping[str, str]]]
    ) -> None:
        """Let a plugin add annotations to the bindings of tasks, by task. It receives all tasks that one plan binds."""
        self._read_registration(uses.read_function, plugin, annotate)
        self._refuse_late(plugin, "annotations of plans")
        self._plan_annotators.append((self._registrant(plugin), self._checked("plan_annotations", annotate)))

    def register_delegate(self, plugin: str, takes: Callable[[Task, int], bool]) -> None:
        """Register a selector of tasks that another binder, known by the plugin's name, binds to a node."""
        self._read_registration(uses.read_function, plugin, takes)
        self._refuse_late(plugin, "a delegate")
        self._delegates.append((self._registrant(plugin), self._checked("delegate", takes)))

    def register_allocator(self, plugin: str, allocator: Allocator) -> None:
        """Let an allocator decide which nodes take the tasks that it concerns, and give them what they get there."""
        self._read_registration(uses.read_allocator, plugin, allocator)
        guarded = allocator if self._guard is None else self._guard.allocator(allocator)
        ledger = AllocatorLedger(self._registrant(plugin), guarded, self.numa_plan)
        self.register(
            PREDICATE,
            plugin,
            ledger.verdicts,
            part=f"allocator {len(self._ledgers)}",  # a plugin may have several
            locality=Locality.GLOBAL,
            cares=ledger.concerns,
            reasons=ledger.reasons,
        )
        self.register_ledger(plugin, ledger)
        self.register_annotations(plugin, ledger.annotations)
        if guarded.aligns:
            self.register_numa_hints(plugin, ledger.numa_hints)

    def register_numa_hints(self, plugin: str, hints: NumaHints) -> None:
        """Let a plugin say which NUMA nodes could serve what it allocates to a task. See `NumaHints`."""
        self._read_registration(uses.read_function, plugin, hints)
        self._refuse_late(plugin, "NUMA hints")
        self._numa_hints.append((self._registrant(plugin), self._checked("numa_hints", hints)))

    def register_numa_plan(self, plugin: str, plan: NumaPlan) -> None:
        """Let a plugin choose the NUMA nodes of tasks from the hints of all plugins. The first one decides."""
        self._read_registration(uses.read_function, plugin, plan)
        self._refuse_late(plugin, "a NUMA plan")
        self._numa_plans.append((self._registrant(plugin), self._checked("numa_plan", plan)))

    def numa_hints(self, task: Task, column: int, nodes: Sequence[int], *, in_future: bool) -> dict[str, Any]:
        """Return the hints of all plugins by resource or type of device. A failing plugin has no set of NUMA nodes."""
        found: dict[str, Any] = {}
        for plugin, hints in self._numa_hints:
            try:
                found.update(hints(task, column, nodes, in_future) or {})
            except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
                self.note_failure(plugin, error)
                found[plugin] = ()
        return found

    @property
    def gives_numa_hints(self) -> bool:
        """Whether a plugin gives hints about NUMA nodes."""
        return bool(self._numa_hints)

    @property
    def plans_numa(self) -> bool:
        """Whether a plugin chooses the NUMA nodes of tasks."""
        return bool(self._numa_plans)

    def numa_plan(self, task: Task, column: int, *, in_future: bool) -> int | None:
        """Return the NUMA nodes of a task on a node, see `NumaPlan`; 0 if the plugin fails."""
        for plugin, plan in self._numa_plans[:1]:
            try:
                return plan(task, column, in_future)
            except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
                self.note_failure(plugin, error)
                return 0
        return None

    def _read_registration(self, reader: Callable[[Any, Any], None], plugin: str, registered: Any) -> None:
        """Check what the running plugin registers, where it is from outside."""
        guard = self.caller.guard
        if guard is not None:
            guard.read("registrations", reader, plugin, registered)

    @contextmanager
    def acting(self, name: str) -> Iterator[None]:
        """Run an external action, and validate the values that it passes to the session."""
        with Guard(partial(self.note_failure, name), self.caller, acts=True).running():
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
        """Return the name under which a plugin registers. A shared function keeps the name it was given."""
        option = self._option
        return option.instance if option is not None and option.plugin == plugin else plugin

    def annotations_for(self, task: Task, column: int) -> dict[str, str]:
        """Return what the binding of a task to the node of a column shall carry; raises `BindingRefused`."""
        return self._texts_for(self._annotators, task, column)

    def labels_for(self, task: Task, column: int) -> dict[str, str]:
        """Return the labels that a pod shall get before it is bound; raises `BindingRefused`."""
        return self._texts_for(self._labellers, task, column)

    def _texts_for(
        self, functions: Sequence[tuple[str, Callable[[Task, int], Mapping[str, str]]]], task: Task, column: int
    ) -> dict[str, str]:
        if not functions:
            return {}
        found = [self._ask_for_binding(each, task, column) for each in functions]
        return {key: value for each in found for key, value in each.items()}

    def annotations_for_plan(self, tasks: Sequence[Task]) -> dict[TaskId, dict[str, str]]:
        """Return by task what bindings shall carry beside that, of all that a plan binds; raises `BindingRefused`."""
        found: dict[TaskId, dict[str, str]] = {}
        for each in self._plan_annotators if tasks else ():
            for task_id, annotations in self._ask_for_binding(each, tasks).items():
                found.setdefault(task_id, {}).update(annotations)
        return found

    def preparations_for(self, task: Task, column: int) -> tuple[Preparation, ...]:
        """Return what must be done before a task may be bound to the node of a column; raises `BindingRefused`."""
        steps: tuple[Preparation, ...] = ()
        for each in self._preparers:
            found = self._ask_for_binding(each, task, column)
            if found:
                steps = (*steps, *found)
        return steps

    def delegate_for(self, task: Task, column: int) -> str:
        """Return the delegate that binds a task, the first that accepts it, or ""; raises `BindingRefused`."""
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
        self._refuse_late(plugin, "a hook for on_opened")
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
        opening: Callable[[], None],
        *,
        is_checked: bool = False,
        may: Callable[[Ability], bool] = lambda _: True,
    ) -> None:
        """Let one plugin register. A failing plugin is left out and named, and the others continue.

        Args:
            option: Its place in the configuration.
            opening: Lets it register.
            is_checked: Whether its answers are checked: those of plugins from outside.
            may: Called if it fails: whether it may protect victims (`guards_victims`), so that none of these is
                evicted, and may have predicates (`filters_nodes`), so that no pod is placed.
        """
        self.caller.for_actions("open_plugin")
        self._option = option
        self._guard = self._guard_of(option) if is_checked else None
        try:
            with self._guard.running() if self._guard is not None else nullcontext():
                opening()
        except BaseException as error:  # a broken plugin must not end the cycle
            if not (is_checked or isinstance(error, Exception)):
                raise  # the process was interrupted while a built-in plugin was opened
            self.note_failure(option.instance, error)
            self._leave_out(option.instance)
            absent = in_place_of(option, guards_victims=may("guards_victims"), filters_nodes=may("filters_nodes"))
            for point, each in absent.items():
                self._registered.setdefault(point, {})[option.instance] = {"": each}
                self._forget_answers(point)
        finally:
            self._option = self._guard = None

    def _guard_of(self, option: PluginOption) -> Guard:
        failed = partial(self.note_failure, option.instance)
        return Guard(failed, self.caller, plugin=option.instance, budgets=self._budgets)

    def _leave_out(self, instance: str) -> None:
        """Forget what a plugin registered before it failed: half a plugin answers worse than none."""
        for point, by_plugin in self._registered.items():
            if by_plugin.pop(instance, None) is not None:
                self._forget_answers(point)
        self._set_ledgers(tuple(each for each in self._ledgers if each[0] != instance))
        _forget(self._preparers, instance)
        _forget(self._annotators, instance)
        _forget(self._labellers, instance)
        _forget(self._plan_annotators, instance)
        _forget(self._delegates, instance)
        _forget(self._numa_hints, instance)
        _forget(self._numa_plans, instance)
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
        if isinstance(error, OverBudgetError):
            list.append(self.over_budget, plugin)
            self._failures[plugin] = refusal  # an earlier failure does not say why the plugin is left out
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
        """Query the functions of an ordering point for their keys. A failing function puts its subject last.

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
        self.caller.for_actions("close_plugins")
        for plugin, hook in self._close_hooks:
            try:
                observed(plugin, hook)
            except Exception as error:  # noqa: BLE001  # a broken plugin must not end the cycle
                self.note_failure(plugin, error)


def _registered(plugin: str, function: Any, options: RegistrationOptions, part: str) -> Registered[Any]:
    reasons = options.get("reasons", ())
    rest: dict[str, Any] = {name: value for name, value in options.items() if name != "reasons"} | {"part": part}
    if callable(reasons):
        return Registered(plugin=plugin, function=function, reasons_of=reasons, **rest)
    return Registered(plugin=plugin, function=function, reasons=tuple(reasons), **rest)


def _guarded(guard: Guard, point: Point[Any], each: Registered[Any]) -> Registered[Any]:
    """Return a registration whose answers are validated."""
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
    "within_queue",
    "reasons_of",
    "addends",
)
"""Functions of a registration beside that of the point."""


def _forget(registered: list[tuple[str, Anything]], instance: str) -> None:
    registered[:] = [each for each in registered if each[0] != instance]
