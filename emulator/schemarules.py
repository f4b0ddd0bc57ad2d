"""Rules in CEL (`x-kubernetes-validations`): built once for a schema, asked when the rest of it found nothing grave.

Rules that compare with the object before, and those that need more of CEL than `emulator.expressions` has, pass.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyroclast.emulator.expressions import EvaluationError, UnreadableExpression, compile_expression
from pyroclast.emulator.fielderrors import FieldError, Reason

__all__ = ["Rules", "compile_rules", "rule_faults"]

Json = dict[str, Any]
Rules = Callable[[Any, str], Iterator[FieldError]]
"""From a value and its path to its faults."""

_GRAVE = frozenset({Reason.NOT_SUPPORTED, Reason.REQUIRED, Reason.TOO_LONG, Reason.TOO_MANY, Reason.TYPE_INVALID})
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)


def rule_faults(rules: Rules | None, value: Any, found: Iterable[FieldError]) -> list[FieldError]:
    """Ask the rules of a schema, unless what was found already keeps them from being asked."""
    if rules is None:
        return []
    if any(fault.type in _GRAVE for fault in found):
        return [FieldError(field="<nil>", type=Reason.INVALID, value=None, detail=_NOT_CHECKED)]
    return list(rules(value, ""))


def compile_rules(schema: Any) -> Rules | None:
    """Build the function that asks all rules of a schema and of its parts; None where it has none."""
    if not isinstance(schema, dict):
        return None
    own = [rule for entry in _entries(schema) if (rule := _rule(entry)) is not None]
    properties = schema.get("properties")
    members = _compiled(properties.items() if isinstance(properties, dict) else ())
    free, items = compile_rules(schema.get("additionalProperties")), compile_rules(schema.get("items"))
    if not own and not members and free is None and items is None:
        return None

    def ask(value: Any, path: str) -> Iterator[FieldError]:
        for rule in own:
            yield from rule(value, path)
        if isinstance(value, dict):
            for key, member in value.items():
                inner = members.get(key, free)
                if inner is not None:
                    yield from inner(member, f"{path}.{key}" if path else str(key))
        elif isinstance(value, list) and items is not None:
            for place, item in enumerate(value):
                yield from items(item, f"{path}[{place}]")

    return ask


def _compiled(properties: Iterable[tuple[str, Any]]) -> dict[str, Rules]:
    compiled = ((key, compile_rules(part)) for key, part in properties)
    return {key: rules for key, rules in compiled if rules is not None}


def _entries(schema: Json) -> list[Json]:
    entries = schema.get("x-kubernetes-validations")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _rule(entry: Json) -> Rules | None:
    """Build one rule."""
    source = str(entry.get("rule", ""))
    try:
        holds = compile_expression(source)
    except UnreadableExpression:
        return None
    message = str(entry.get("message") or f"failed rule: {source}").strip()
    reason = str(entry.get("reason") or "FieldValueInvalid").removeprefix("FieldValue")
    suffix = str(entry.get("fieldPath", ""))

    def ask(value: Any, path: str) -> Iterator[FieldError]:
        try:
            if holds(value):
                return
            detail = message
        except EvaluationError as error:
            detail = f"{error} evaluating rule: {message}"
        yield FieldError(field=(path + suffix).lstrip(".") or "<nil>", type=reason, shows_value=False, detail=detail)

    return ask
