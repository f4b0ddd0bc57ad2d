"""Votes: how the answers of several plugins combine, apart from sums and orders; and the key that comes last.

A plugin's exception is an answer too: a refusal that names the plugin, so that one broken plugin never ends a cycle.
Every question takes `failed`, which notes the exception where failures are counted and gives that refusal.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final

from pyroclast.framework.extension.contract import Registered, Vote
from pyroclast.model.ids import TaskId
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.tasks import Task
from pyroclast.model.texts import said_by

__all__ = ["LAST", "cast_votes", "choose_victims", "failure_of", "first_refusal", "narrow_victims", "reason_of"]

Tiers = Sequence[Sequence[Registered[Any]]]

Failed = Callable[[str, BaseException], Refusal]
"""Notes that a plugin raised something; returns the refusal that it amounts to."""


def failure_of(plugin: str, error: BaseException) -> Refusal:
    """Turn a plugin's exception into a refusal."""
    message = f"plugin {plugin} failed: {type(error).__name__}: {said_by(error)}"
    return Refusal(plugin=plugin, reason="PluginError", message=message)


def first_refusal(
    functions: Iterable[Registered[Any]], *about: Any, failed: Failed, permitted: bool = True, lends: bool = False
) -> Refusal | None:
    """Ask plugins for permission until one refuses; None if all permit.

    Args:
        functions: Functions to call; each returns an `Answer`.
        about: Arguments of the call.
        failed: Notes an exception.
        permitted: The boolean that permits: False for questions such as "is the queue overused".
        lends: Whether refusals that are `lendable` do not count.
    """
    for each in functions:
        try:
            answer = each.function(*about)
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is its refusal
            return failed(each.plugin, error)
        if answer is None or answer is permitted:
            continue
        if not isinstance(answer, Refusal):
            return Refusal(plugin=each.plugin, reason="Refused", message=f"refused by {each.plugin}")
        if not (lends and answer.lendable):
            return answer
    return None


def reason_of(each: Registered[Any], answer: Any) -> Reason | None:
    """Read what a function answered about one node or Reservation; None if it permits."""
    if answer is None or answer is True:
        return None
    if isinstance(answer, Refusal):
        return Reason(answer.message or answer.reason, answer.resolvable)
    if isinstance(answer, Reason):
        return answer
    return Reason(answer if isinstance(answer, str) else f"refused by {each.plugin}")


def cast_votes(tiers: Tiers, *about: Any, failed: Failed) -> tuple[bool, list[Refusal]]:
    """Combine votes by tier: a reject ends with no, a permit makes its tier answer yes, and no vote at all is a yes.

    Returns:
        The outcome, and the refusals of the plugins that rejected.
    """
    for tier in tiers:
        permitted = False
        for each in tier:
            try:
                vote = each.function(*about)
            except Exception as error:  # noqa: BLE001  # whatever a plugin raises is its refusal
                return False, [failed(each.plugin, error)]
            if isinstance(vote, Refusal):
                return False, [vote]
            if vote == Vote.REJECT:
                return False, [Refusal(plugin=each.plugin, reason="Refused", message=f"refused by {each.plugin}")]
            permitted = permitted or vote == Vote.PERMIT
        if permitted:
            return True, []
    return True, []


Limit = Callable[[list[Task], Sequence[Registered[Any]]], tuple[list[Task], dict[TaskId, Refusal]]]
"""Narrows the victims of a tier. Returns the victims that are left, and the refusals of the others."""


def choose_victims(
    tiers: Tiers,
    candidates: Sequence[Task],
    ask: Callable[[Registered[Any]], Any],
    *,
    failed: Failed,
    limit: Limit = lambda victims, _: (victims, {}),
) -> tuple[list[Task], dict[TaskId, Refusal]]:
    """Let tiers choose among candidates for eviction.

    Inside a tier the lists of all plugins that do not abstain are intersected, in the order of the first; an empty list
    or an empty intersection ends the tier without victims, and the next tier is asked. If a plugin fails, all
    candidates are protected and no later tier is asked, because the plugin might have chosen fewer victims.

    Args:
        tiers: The plugins by tier.
        candidates: Tasks that may be chosen, first to go first.
        ask: Asks one plugin.
        failed: Notes an exception.
        limit: What holds in every tier: it narrows the intersection.

    Returns:
        The victims, and by task id the refusal of the first plugin that protected it in the deciding tier.
    """
    vetoes: dict[TaskId, Refusal] = {}
    known = {task.id for task in candidates}
    for tier in tiers:
        victims: list[Task] | None = None
        for each in tier:
            try:
                chosen = _permitted(ask(each))
                allowed = set() if chosen is None else {task.id for task in chosen}
            except Exception as error:  # noqa: BLE001  # whatever a plugin raises, or answers instead of tasks
                _note_vetoes(vetoes, failed(each.plugin, error), candidates, set())
                return [], vetoes
            if chosen is None:
                continue
            _note_vetoes(vetoes, _spared_by(each.plugin), candidates, allowed)
            victims = (
                [task for task in chosen if task.id in known]
                if victims is None
                else [task for task in victims if task.id in allowed]
            )
            if not victims:
                break
        if victims:
            victims, refused = limit(victims, tier)
            vetoes = refused | vetoes
        if victims:
            return victims, vetoes
    return [], vetoes


def narrow_victims(
    functions: Sequence[Registered[Any]],
    victims: list[Task],
    ask: Callable[[Registered[Any], list[Task]], Any],
    *,
    failed: Failed,
) -> tuple[list[Task], dict[TaskId, Refusal]]:
    """Let each function narrow what the one before left of some victims; one that fails spares all.

    Returns:
        The victims that are left, and by task id the refusal of the plugin that spared it.
    """
    vetoes: dict[TaskId, Refusal] = {}
    for each in functions:
        refusal = _spared_by(each.plugin)
        try:
            allowed = {task.id for task in ask(each, victims)}
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises, or answers instead of tasks
            allowed, refusal = set(), failed(each.plugin, error)
        _note_vetoes(vetoes, refusal, victims, allowed)
        victims = [task for task in victims if task.id in allowed]
    return victims, vetoes


def _permitted(answer: Any) -> list[Task] | None:
    """Return the tasks that an answer permits to evict; None if it abstains."""
    if isinstance(answer, tuple):
        chosen, vote = answer
        return None if vote == Vote.ABSTAIN else list(chosen)
    return list(answer)


def _note_vetoes(
    vetoes: dict[TaskId, Refusal], refusal: Refusal, candidates: Iterable[Task], allowed: set[TaskId]
) -> None:
    for task in candidates:
        if task.id not in allowed and task.id not in vetoes:
            vetoes[task.id] = refusal


@cache
def _spared_by(plugin: str) -> Refusal:
    return Refusal(plugin=plugin, reason="Spared", message=f"protected by {plugin}")


class _Last:
    """Greater than anything but itself; for what could not be ranked."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return other is not self


LAST: Final = _Last()
