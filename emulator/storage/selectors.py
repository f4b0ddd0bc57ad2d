"""Label and field selectors: what a list, a watch or an object's own selector asks for.

Label selectors follow the grammar of the Kubernetes API (`a=b,c in (d,e),!f`); field selectors know the fields that
the API server supports for each kind, and refuse the others with its words.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyroclast.emulator.storage.labels import label_key_faults, label_value_faults

__all__ = [
    "FieldRequirement",
    "LabelPredicate",
    "SelectorError",
    "check_fields",
    "field_selector_matches",
    "field_value",
    "label_selector_matches",
    "parse_field_selector",
    "parse_label_selector",
]

LabelPredicate = Callable[[Mapping[str, str]], bool]


class SelectorError(Exception):
    """A selector that cannot be understood, or asks for an unsupported field; the remedy is another selector."""


# --- labels, as text -------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^=!(),<> \t\r\n]+))")
_BINARY_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_WORDS = ("in", "notin")
_SYMBOLS = ("=", "==", "!=", "!", "(", ")", ",", "<", ">")


class _Tokens:
    """The tokens of a label selector, taken one at a time; the empty string stands for the end."""

    def __init__(self, text: str) -> None:
        self._tokens = [symbol or word for symbol, word in _TOKEN.findall(text)]
        self._position = 0

    def peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self._position += 1
        return token


def _is_word(token: str) -> bool:
    return bool(token) and token not in _SYMBOLS


def parse_label_selector(text: str) -> LabelPredicate:
    """Compile a label selector; the empty one takes everything.

    Raises:
        SelectorError: The text is not a label selector.
    """
    tests = _parse_requirements(_Tokens(text))
    if not tests:
        return _everything
    if len(tests) == 1:
        return tests[0]
    return lambda labels: all(test(labels) for test in tests)


def _everything(labels: Mapping[str, str]) -> bool:  # noqa: ARG001  # the shape of every predicate
    return True


def _parse_requirements(tokens: _Tokens) -> list[LabelPredicate]:
    tests: list[LabelPredicate] = []
    while tokens.peek():
        if not (_is_word(tokens.peek()) or tokens.peek() == "!"):
            raise SelectorError(f"found '{tokens.peek()}', expected: !, identifier, or 'end of string'")
        try:
            tests.append(_parse_requirement(tokens))
        except SelectorError as error:
            raise SelectorError(f"unable to parse requirement: {error}") from None
        separator = tokens.take()
        if not separator:
            break
        if separator != ",":
            raise SelectorError(f"found '{separator}', expected: ',' or 'end of string'")
        if not (_is_word(tokens.peek()) or tokens.peek() == "!"):
            raise SelectorError(f"found '{tokens.peek()}', expected: identifier after ','")
    return tests


def _parse_requirement(tokens: _Tokens) -> LabelPredicate:
    key = tokens.take()
    absent = key == "!"
    if absent:
        key = tokens.take()
    if not _is_word(key):
        raise SelectorError(f"found '{key}', expected: identifier")
    _check_key(key)
    if absent:
        return lambda labels: key not in labels
    if tokens.peek() in ("", ","):
        return lambda labels: key in labels
    operator = tokens.take()
    if operator in _WORDS:
        return _set_test(key, operator, _parse_values(tokens))
    if operator in ("=", "==", "!="):
        return _set_test(key, "notin" if operator == "!=" else "in", {_parse_exact_value(tokens)})
    if operator in ("<", ">"):
        return _order_test(key, operator, _parse_exact_value(tokens))
    raise SelectorError(f"found '{operator}', expected: {_BINARY_OPERATORS}")


def _parse_values(tokens: _Tokens) -> set[str]:
    opening = tokens.take()
    if opening != "(":
        raise SelectorError(f"found '{opening}' expected: '('")
    values: set[str] = set()
    value = ""
    while True:
        found = tokens.take()
        if found in (",", ")"):
            values.add(value)
            value = ""
            if found == ")":
                return values
        elif _is_word(found) and not value:
            value = found
        else:
            raise SelectorError(f"found '{found}', expected: ',' or ')'")


def _parse_exact_value(tokens: _Tokens) -> str:
    if tokens.peek() in ("", ","):
        return ""
    value = tokens.take()
    if not _is_word(value):
        raise SelectorError(f"found '{value}', expected: identifier")
    return value


def _check_key(key: str) -> None:
    faults = label_key_faults(key)
    if faults:
        raise SelectorError(f'<nil>: Invalid value: "{key}": {"; ".join(faults)}')


def _set_test(key: str, operator: str, values: set[str]) -> LabelPredicate:
    for value in sorted(values):
        faults = label_value_faults(value)
        if faults:
            raise SelectorError(f'values[0][{key}]: Invalid value: "{value}": {"; ".join(faults)}')
    if operator == "notin":
        return lambda labels: labels.get(key) not in values  # an absent key is not in any set
    if len(values) == 1:
        (value,) = values
        return lambda labels: labels.get(key) == value
    return lambda labels: labels.get(key) in values


def _order_test(key: str, operator: str, bound: str) -> LabelPredicate:
    limit = _integer(bound)
    if limit is None:
        raise SelectorError(
            f"values[0]: Invalid value: \"{bound}\": for 'Gt', 'Lt' operators, the value must be an integer"
        )

    def test(labels: Mapping[str, str]) -> bool:
        number = _integer(labels.get(key, ""))
        return number is not None and (number > limit if operator == ">" else number < limit)

    return test


def _integer(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None


# --- labels, as an object --------------------------------------------------------------------------------------------


def label_selector_matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Return whether `labels` satisfy a LabelSelector object; none matches nothing, an empty one everything.

    Raises:
        SelectorError: An operator is unknown, or has values where it must not.
    """
    if selector is None:
        return False
    if not isinstance(selector, Mapping):
        raise SelectorError(f"a label selector must be an object, not {selector!r}")
    match_labels = selector.get("matchLabels") or {}
    expressions = selector.get("matchExpressions") or []
    if not isinstance(match_labels, Mapping) or not isinstance(expressions, list):
        raise SelectorError("matchLabels must be an object and matchExpressions a list")
    if any(labels.get(key) != value for key, value in match_labels.items()):
        return False
    return all(_expression_matches(expression, labels) for expression in expressions)


def _expression_matches(expression: Any, labels: Mapping[str, str]) -> bool:
    if not isinstance(expression, Mapping) or not isinstance(expression.get("key"), str):
        raise SelectorError(f"{expression!r} is not a label selector requirement")
    key, operator, values = expression["key"], expression.get("operator"), expression.get("values") or []
    if not isinstance(values, list):
        raise SelectorError(f"values of {key!r} must be a list")
    if operator in ("In", "NotIn"):
        if not values:
            raise SelectorError("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")
        return (labels.get(key) in values) is (operator == "In")
    if operator in ("Exists", "DoesNotExist"):
        if values:
            raise SelectorError("values: Invalid value: values set must be empty for exists and does not exist")
        return (key in labels) is (operator == "Exists")
    raise SelectorError(f'"{operator}" is not a valid label selector operator')


# --- fields ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRequirement:
    """One term of a field selector: the field at `path` equals (`=`) or differs from (`!=`) `value`."""

    path: str
    op: str
    value: str


_OBJECT_FIELDS = frozenset({"metadata.name", "metadata.namespace"})
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_EVENT_FIELDS = {
    "": frozenset({f"involvedObject.{name}" for name in _INVOLVED})
    | {"reason", "reportingComponent", "source", "type"},
    "events.k8s.io": frozenset({f"regarding.{name}" for name in _INVOLVED}) | {"reason", "reportingController", "type"},
}
_FIELDS: dict[tuple[str, str], frozenset[str]] = {
    ("", "Pod"): _OBJECT_FIELDS
    | {
        "spec.hostNetwork",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.nominatedNodeName",
        "status.phase",
        "status.podIP",
        "status.podIPs",
    },
    ("", "Node"): frozenset({"metadata.name", "spec.unschedulable"}),
    ("", "Namespace"): frozenset({"metadata.name", "status.phase"}),
    ("", "ReplicationController"): _OBJECT_FIELDS | {"status.replicas"},
    ("", "Secret"): _OBJECT_FIELDS | {"type"},
    ("", "Service"): _OBJECT_FIELDS | {"spec.clusterIP", "spec.type"},
    ("", "Event"): _OBJECT_FIELDS | _EVENT_FIELDS[""],
    ("events.k8s.io", "Event"): _OBJECT_FIELDS | _EVENT_FIELDS["events.k8s.io"],
    ("batch", "Job"): _OBJECT_FIELDS | {"status.successful"},
    ("certificates.k8s.io", "CertificateSigningRequest"): frozenset({"metadata.name", "spec.signerName"}),
    ("resource.k8s.io", "ResourceSlice"): frozenset({"metadata.name", "spec.nodeName", "spec.driver"}),
}
_BUILT_IN_SUFFIX = ".k8s.io"
_BUILT_IN_GROUPS = frozenset({"", "apps", "autoscaling", "batch", "extensions", "policy"})
_DEFAULTS = {"spec.unschedulable": "false", "spec.hostNetwork": "false", "status.successful": "0"}
# An event's fields that differ between its two API groups; the first that is set counts.
_ALTERNATIVES = {
    "source": ("source.component", "reportingComponent"),
    "reportingComponent": ("reportingComponent", "reportingController"),
    "reportingController": ("reportingController", "reportingComponent"),
    "status.successful": ("status.succeeded",),
}


def parse_field_selector(text: str) -> list[FieldRequirement]:
    r"""Split a field selector into its terms; `\,`, `\=` and `\\` stand for the characters themselves.

    Raises:
        SelectorError: A term has no operator, or an escape is unknown.
    """
    terms = re.findall(r"(?:\\.|[^,\\]|\\\Z)+", text, flags=re.DOTALL)
    return [_parse_term(term, text) for term in sorted(terms)]


def _parse_term(term: str, text: str) -> FieldRequirement:
    match = re.match(r"(.*?)(!=|==|=)(.*)\Z", term, flags=re.DOTALL)
    if not match:
        raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
    path, operator, value = match.groups()
    return FieldRequirement(path=path, op="!=" if operator == "!=" else "=", value=_unescape(value))


def _unescape(value: str) -> str:
    plain = []
    characters = iter(value)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in ("\\", ",", "="):
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            plain.append(escaped)
        elif character == "=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(character)}")
        else:
            plain.append(character)
    return "".join(plain)


def check_fields(
    requirements: Iterable[FieldRequirement], group: str, kind: str, *, selectable: Collection[str] = ()
) -> None:
    """Refuse fields that cannot be selected on.

    Args:
        requirements: The parsed selector.
        group: API group of the kind, empty for the core.
        kind: The kind listed or watched.
        selectable: `selectableFields` of a custom resource, without their leading dot.

    Raises:
        SelectorError: In the API server's words.
    """
    for requirement in requirements:
        fault = _field_fault(group, kind, requirement.path)
        if fault and requirement.path not in selectable:
            raise SelectorError(fault)


@functools.lru_cache(maxsize=1024)
def _field_fault(group: str, kind: str, path: str) -> str:
    known = _FIELDS.get((group, kind))
    if path in (known or _OBJECT_FIELDS):
        return ""
    if known is None and (group in _BUILT_IN_GROUPS or group.endswith(_BUILT_IN_SUFFIX)):
        return f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    return f"field label not supported: {path}"


def field_value(obj: Mapping[str, Any], path: str) -> str:
    """Read a field that `check_fields` lets pass, as the text it is compared with; an absent one has its default."""
    for alternative in _ALTERNATIVES.get(path, (path,)):
        text = _text(_walk(obj, alternative))
        if text:
            return text
    return _DEFAULTS.get(path, "")


def field_selector_matches(requirements: Iterable[FieldRequirement], obj: Mapping[str, Any]) -> bool:
    """Return whether an object satisfies every term of a field selector that `check_fields` accepts."""
    return all((field_value(obj, each.path) == each.value) is (each.op == "=") for each in requirements)


@functools.lru_cache(maxsize=256)
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _walk(obj: Mapping[str, Any], path: str) -> Any:
    value: Any = obj
    for step in _steps(path):
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        addresses = [item.get("ip") for item in value if isinstance(item, Mapping)]
        return ",".join(address for address in addresses if isinstance(address, str))
    return "" if value is None or isinstance(value, Mapping) else str(value)
