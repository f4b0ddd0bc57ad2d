"""Rules in CEL that schemas carry."""

from typing import Any

import pytest

from pyroclast.emulator.schemas import compile_schema

ONE = {"rule": "has(self.a) || has(self.b)", "message": "a or b must be given"}


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    """Validate an object that has `value` as its spec by `schema`."""
    root = {"type": "object", "properties": {"spec": schema}}
    return [str(fault) for fault in compile_schema(root).validate({"spec": value})]


def test_a_broken_rule_is_told_by_its_message() -> None:
    """The field is named, its value is not."""
    schema = {"type": "object", "x-kubernetes-validations": [ONE]}

    assert faults(schema, {}) == ["spec: Invalid value: a or b must be given"]
    assert faults(schema, {"b": 1}) == []


def test_a_rule_without_a_message_is_shown_itself() -> None:
    """The rule is all there is to say."""
    schema = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 2"}]}

    assert faults(schema, 1) == ["spec: Invalid value: failed rule: self > 2"]


def test_rules_are_asked_of_items_and_free_keys() -> None:
    """Each place is named as other faults name it."""
    inner = {"type": "object", "x-kubernetes-validations": [ONE]}
    schema = {
        "type": "object",
        "properties": {"list": {"type": "array", "items": inner}},
        "additionalProperties": inner,
    }

    assert faults(schema, {"list": [{"a": 1}, {}], "free": {}}) == [
        "spec.list[1]: Invalid value: a or b must be given",
        "spec.free: Invalid value: a or b must be given",
    ]


def test_reason_and_field_of_a_rule() -> None:
    """A rule may say what kind of fault it is, and of which field."""
    rule = {**ONE, "reason": "FieldValueForbidden", "fieldPath": ".a"}

    assert faults({"type": "object", "x-kubernetes-validations": [rule]}, {}) == [
        "spec.a: Forbidden: a or b must be given"
    ]


def test_rules_wait_until_grave_faults_are_gone() -> None:
    """An object of wrong types is not asked, and its owner is told so."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "x-kubernetes-validations": [{"rule": "self.a == 'x'"}],
    }

    first, second = faults(schema, {"a": 1})

    assert first.startswith("spec.a: Invalid value: ")
    assert second.startswith("<nil>: Invalid value: null: some validation rules were not checked because")


def test_a_rule_without_a_value_says_why() -> None:
    """Evaluation that fails is a fault of the object."""
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": "self.a == 1", "message": "a is 1"}]}

    assert faults(schema, {}) == ["spec: Invalid value: no such key: a evaluating rule: a is 1"]


@pytest.mark.parametrize("rule", ["oldSelf.a == self.a", "self.all(part, part > 1)"])
def test_rules_beyond_the_known_part_pass(rule: str) -> None:
    """What cannot be read cannot refuse."""
    assert faults({"type": "object", "x-kubernetes-validations": [{"rule": rule}]}, {}) == []


def test_a_status_is_checked_for_itself() -> None:
    """A write to the subresource names places inside the status, and says nothing of a spec that is wrong."""
    count = {"type": "object", "properties": {"count": {"type": "integer", "minimum": 0}}}
    schema = compile_schema({"type": "object", "properties": {"spec": count, "status": count}})

    found = schema.validate_status({"spec": {"count": -1}, "status": {"count": -1}})

    assert [str(fault) for fault in found] == [
        "status.count: Invalid value: -1: count in body should be greater than or equal to 0"
    ]


def test_an_object_without_a_status_has_no_faults_there() -> None:
    """Nothing is nothing to complain about."""
    schema = compile_schema({"type": "object", "properties": {"status": {"type": "object"}}})

    assert schema.validate_status({}) == []
