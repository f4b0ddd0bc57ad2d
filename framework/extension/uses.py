"""Uses: validation and limits of what external plugins pass to the session.

A reader takes the arguments of one method of the session and returns them as the session keeps them: texts shortened,
numbers finite, mappings copied. It raises `TypeError` or `ValueError` where they are wrong. How often a plugin may call
in one cycle is bounded by kind of use; plugins of ours are typed and not counted.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from pyroclast.framework.extension.answers import number
from pyroclast.framework.extension.contract import Allocator, Ledger, Locality, Point, RegistrationOptions
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.errors import PyroclastError
from pyroclast.model.refusals import Reason
from pyroclast.model.report import EventNote, GroupCondition, JobShare, QuotaFigures
from pyroclast.model.texts import said_by, shortened

__all__ = ["MOST_USES", "Uses", "WrongUseError"]

MOST_USES: Final[Mapping[str, int]] = {
    "registrations": 1_000,
    "events": 1_000,
    "samples": 10_000,
    "conditions": 100_000,
    "jobs": 100_000,
    "notes": 10_000,
    "wakes": 1_000,
}
"""Maximum number of uses of each kind by one plugin in one cycle."""

_MOST_WORD: Final = 253
"""Characters of a name or a word for machines."""
_MOST_LABELS: Final = 32
_QUESTIONS: Final = frozenset({"within_job", "alike", "in_turn", "is_outside"})
"""RegistrationOptions that are true or false."""
_METRIC: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


class WrongUseError(PyroclastError):
    """A plugin called a method of the session with what it does not take, too often, or at a time when it may not."""


class Uses:
    """Values that one plugin has passed to the session in this cycle."""

    def __init__(self, *, is_bounded: bool = True) -> None:
        """Begin to count. Values from actions are not limited in number, because an action reports for all jobs."""
        self._is_bounded = is_bounded
        self._counts: Counter[str] = Counter()

    def read(self, use: str, reader: Callable[..., Any], *arguments: Any) -> Any:
        """Count a use, and return its arguments as they are read; raises `WrongUseError`."""
        self._counts[use] += 1
        if self._counts[use] > MOST_USES[use] and self._is_bounded:
            raise WrongUseError(f"more than {MOST_USES[use]} {use} in a cycle")
        try:
            return reader(*arguments)
        except BaseException as error:
            raise WrongUseError(
                f"{reader.__name__.removeprefix('read_').replace('_', ' ')}: {said_by(error)}"
            ) from error


# Words and numbers ----------------------------------------------------------------------------------------------------


def read_text(value: Any) -> str:
    """Return a text for people, shortened."""
    return _writable(shortened(_text(value)))


def read_word(value: Any) -> str:
    """Return a name, or a word for machines."""
    if len(_text(value)) > _MOST_WORD:
        raise ValueError(f"expected at most {_MOST_WORD} characters, got {len(value)}")
    return _writable(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _expected("a text", value)
    return value


def _writable(text: str) -> str:
    text.encode()  # raises where there is half a pair of surrogates
    return text


def _expected(what: str, got: Any) -> TypeError:
    return TypeError(f"expected {what}, got {type(got).__name__}")


def _of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise _expected(kind.__name__, value)
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise _expected("a whole number of 64 bits", value)
    return value


def _amounts(value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping) or len(value) > MOST_USES["notes"]:
        raise _expected("a mapping of amounts", value)
    return {read_word(name): _count(amount) for name, amount in value.items()}


# Validation of values ------------------------------------------------------------------------------------------------


def read_event(note: Any) -> EventNote:
    """Return an event."""
    if not isinstance(note, EventNote):
        raise _expected("an event", note)
    if note.type not in ("Normal", "Warning"):
        raise ValueError("the type of an event is Normal or Warning")
    return msgspec.structs.replace(
        note,
        kind=read_word(note.kind),
        namespace=read_word(note.namespace),
        name=read_word(note.name),
        uid=read_word(note.uid),
        reason=read_word(note.reason),
        message=read_text(note.message),
    )


def read_job(job: Any) -> SessionJob:
    """Return the validated job of a report."""
    if not isinstance(job, SessionJob):
        raise _expected("a job", job)
    return job


def read_condition(condition: Any) -> GroupCondition:
    """Return a condition of a PodGroup."""
    if not isinstance(condition, GroupCondition):
        raise _expected("a condition", condition)
    if condition.status not in ("True", "False", "Unknown"):
        raise ValueError("the status of a condition is True, False or Unknown")
    return msgspec.structs.replace(
        condition,
        type=read_word(condition.type),
        reason=read_word(condition.reason),
        message=read_text(condition.message),
        transition_id=read_word(condition.transition_id),
    )


def read_sample(
    metric: Any, value: Any, kind: Any, labels: Mapping[str, Any]
) -> tuple[str, float, str, dict[str, str]]:
    """Return a value of a metric."""
    if not _METRIC.fullmatch(read_word(metric)):
        raise ValueError(f"{metric!r} is no name of a metric")
    if kind not in ("gauge", "counter", "histogram"):
        raise ValueError("the kind of a metric is gauge, counter or histogram")
    if len(labels) > _MOST_LABELS:
        raise ValueError(f"more than {_MOST_LABELS} labels")
    found = number(value)
    if kind == "counter" and found < 0:
        raise ValueError("a counter does not go back")
    return metric, found, kind, {read_word(name): read_word(label) for name, label in labels.items()}


def read_sample_amounts(amounts: Any, resources: int) -> list[int]:
    """Return amounts by resource."""
    if not isinstance(amounts, Sequence) and not hasattr(amounts, "tolist"):
        raise _expected("amounts", amounts)
    if len(amounts) != resources:
        raise ValueError(f"expected {resources} amounts, got {len(amounts)}")
    return [_count(int(number(each))) for each in amounts]


def read_difference(queue: Any, more: Any, queues: Mapping[Any, Any]) -> tuple[str, dict[str, int]]:
    """Return the difference between a queue's usage and the requests of its tasks."""
    if read_word(queue) not in queues:
        raise ValueError(f"there is no queue {queue!r}")
    return queue, _amounts(more)


def read_moment(moment: Any) -> float:
    """Return a moment, seconds since 1970."""
    return number(moment)


def read_run(key: Any, moment: Any) -> tuple[str, float | None]:
    """Return when a plugin acted."""
    return read_word(key), None if moment is None else number(moment)


def read_share(share: Any) -> JobShare:
    """Return the share of a job."""
    _of(JobShare, share)
    return JobShare(resource=read_word(share.resource), share=number(share.share), allocated=_amounts(share.allocated))


def read_quota_figures(figures: Any) -> QuotaFigures:
    """Return how an elastic quota stands."""
    _of(QuotaFigures, figures)
    names = ("namespace", "name", "uid")
    texts = {read_word(key): read_text(text) for key, text in figures.annotations.items()}
    words: dict[str, Any] = {name: read_word(getattr(figures, name)) for name in names}
    amounts: dict[str, Any] = {
        name: _amounts(getattr(figures, name))
        for name in figures.__struct_fields__
        if name not in (*names, "annotations")
    }
    return QuotaFigures(**words, **amounts, annotations=texts)


def read_news(about: Any, text: Any) -> tuple[str, str]:
    """Return the validated text about an object."""
    return read_word(about), read_text(text)


def read_registration(point: Any, plugin: Any, function: Any, options: Mapping[str, Any], *, part: Any) -> None:
    """Check what is registered; functions are asked later, and their answers are read then."""
    _of(Point, point)
    read_word(plugin)
    read_word(part)
    if not callable(function):
        raise _expected("a function", function)
    for name, each in options.items():
        _read_option(name, each)


def _read_option(name: str, value: Any) -> None:
    if name not in RegistrationOptions.__annotations__:
        raise TypeError(f"{name!r} is no option of a registration")
    if name == "locality":
        if value is not None:
            _of(Locality, value)
    elif name in _QUESTIONS:
        _of(bool, value)
    elif name == "weight":
        number(value)
    elif name == "reasons" and not callable(value):
        for reason in _of(Sequence, value):
            _of(Reason, reason)
    elif not (value is None or callable(value)):
        raise TypeError(f"expected a function as {name}, got {type(value).__name__}")


def read_function(plugin: Any, function: Any) -> None:
    """Check a function that is registered beside those of points."""
    read_word(plugin)
    if not callable(function):
        raise _expected("a function", function)


def read_ledger(plugin: Any, ledger: Any) -> None:
    """Check a ledger."""
    read_word(plugin)
    _of(Ledger, ledger)


def read_allocator(plugin: Any, allocator: Any) -> None:
    """Check an allocator."""
    read_word(plugin)
    _of(Allocator, allocator)


def read_rule(plugin: Any, rule: Any) -> None:
    """Check a required rule."""
    read_word(plugin)
    read_word(rule)
