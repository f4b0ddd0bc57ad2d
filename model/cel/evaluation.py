"""Evaluation: the result of an expression for some variables, within a bound on steps.

A step is an operator, a call, a field, or one turn of a loop; long texts and lists cost more. `&&`, `||`, `all` and
`exists` have a result if one operand decides it, even if another one fails, as the language demands.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from pyroclast.model.cel.functions import FUNCTIONS, METHODS, contains, integer
from pyroclast.model.cel.parser import (
    Bind,
    Call,
    CelError,
    Index,
    ListOf,
    Literal,
    Logic,
    Macro,
    MapOf,
    Name,
    Node,
    Select,
    parse,
)
from pyroclast.model.cel.values import NONE, Optional, TotalMap, compared, equal, is_number, kind_of

__all__ = ["Program", "compiled"]

_MOST_STEPS: Final = 20_000
"""Steps of one evaluation."""
_CHARACTERS_PER_STEP: Final = 100
_MOST_PROGRAMS: Final = 1024
_OPERATORS: Final = frozenset({"?:", "!", "negate", "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "in"})

_PATTERNS: Final = frozenset({"matches", "find", "findAll"})

Scope = Mapping[str, Any]


@lru_cache(_MOST_PROGRAMS)
def compiled(text: str, variables: tuple[str, ...]) -> "Program":
    """Return the program of an expression.

    Args:
        text: The expression.
        variables: Names that it may use.

    Raises:
        CelError: The text is no expression, or uses unknown variables or functions.
    """
    return Program(parse(text), variables)


class Program:
    """An expression whose names and functions are known."""

    __slots__ = ("_node",)

    def __init__(self, node: Node, variables: tuple[str, ...]) -> None:
        """Check the tree. Raise CelError for unknown variables and functions."""
        _check(node, frozenset(variables))
        self._node = node

    def evaluate(self, variables: Scope) -> tuple[Any, int]:
        """Return the result and the number of steps.

        Raises:
            CelError: There is no result, or it takes too many steps.
        """
        evaluation = _Evaluation()
        return evaluation.value(self._node, variables), evaluation.steps


def _check(node: Node, names: frozenset[str]) -> None:
    if isinstance(node, Name) and node.name not in names:
        raise CelError(f"undeclared variable {node.name!r}")
    if isinstance(node, Call) and node.function not in _OPERATORS:
        known = METHODS if node.is_method else FUNCTIONS
        arity = len(node.arguments) - node.is_method
        if node.function not in known or arity not in known[node.function][1]:
            raise CelError(f"there is no function {node.function!r} with {arity} argument{'s' * (arity != 1)}")
    for inner, more in _inner(node):
        _check(inner, names | more)


def _inner(node: Node) -> Iterator[tuple[Node, frozenset[str]]]:
    """Yield the parts of a node with the names that are declared for them."""
    none: frozenset[str] = frozenset()
    match node:
        case Select():
            yield node.operand, none
        case Index():
            yield from ((each, none) for each in (node.operand, node.key))
        case Call():
            yield from ((each, none) for each in node.arguments)
        case Logic():
            yield from ((each, none) for each in node.operands)
        case ListOf():
            yield from ((each, none) for each, _ in node.elements)
        case MapOf():
            yield from ((each, none) for key, value, _ in node.entries for each in (key, value))
        case Macro():
            names = frozenset(node.names)
            yield node.range, none
            yield node.body, names
            if node.condition is not None:
                yield node.condition, names
        case Bind():
            yield node.value, none
            yield node.body, frozenset({node.name})


class _Evaluation:
    """One evaluation, which counts its steps."""

    def __init__(self) -> None:
        self.steps = 0

    def _step(self, count: int = 1) -> None:
        self.steps += count
        if self.steps > _MOST_STEPS:
            raise CelError(f"the evaluation takes more than {_MOST_STEPS} steps")

    def value(self, node: Node, scope: Scope) -> Any:
        match node:
            case Literal():
                return node.value
            case Name():
                return scope[node.name]
            case Logic():
                return self._logic(node, scope)
        self._step()
        match node:
            case Select():
                return self._select(node, scope)
            case Index():
                return self._index(node, scope)
            case Call():
                return self._call(node, scope)
            case ListOf():
                return self._list(node, scope)
            case MapOf():
                return self._map(node, scope)
            case Bind():
                return self.value(node.body, {**scope, node.name: self.value(node.value, scope)})
            case Macro():
                return self._macro(node, scope)

    def _logic(self, node: Logic, scope: Scope) -> bool:
        """An operand that decides ends the evaluation; a failure counts if none decides."""
        failure: CelError | None = None
        for each in node.operands:
            self._step()
            try:
                value = self._truth(each, scope)
            except CelError as error:
                failure = failure or error
                continue
            if value is not node.is_and:
                return value
        if failure is not None:
            raise failure
        return node.is_and

    def _truth(self, node: Node, scope: Scope) -> bool:
        value = self.value(node, scope)
        if not isinstance(value, bool):
            raise CelError(f"a {kind_of(value)} where a bool is expected")
        return value

    def _select(self, node: Select, scope: Scope) -> Any:
        operand = self.value(node.operand, scope)
        is_optional = node.is_optional or isinstance(operand, Optional)
        if isinstance(operand, Optional):
            if not operand.is_present:
                return False if node.is_test else NONE
            operand = operand.value
        if not isinstance(operand, Mapping):
            raise CelError(f"no field {node.field!r} of a {kind_of(operand)}")
        if node.is_test:
            return node.field in operand
        return _entry(operand, node.field, is_optional=is_optional)

    def _index(self, node: Index, scope: Scope) -> Any:
        operand, index = self.value(node.operand, scope), self.value(node.key, scope)
        is_optional = node.is_optional or isinstance(operand, Optional)
        if isinstance(operand, Optional):
            if not operand.is_present:
                return NONE
            operand = operand.value
        if isinstance(operand, list):
            if not is_number(index) or index % 1 != 0:  # also false for infinity and NaN
                raise CelError(f"a list has no element {index!r}")
            if not 0 <= index < len(operand):
                if is_optional:
                    return NONE
                raise CelError("index out of range")
            return Optional(operand[int(index)]) if is_optional else operand[int(index)]
        if not isinstance(operand, Mapping):
            raise CelError(f"no elements in a {kind_of(operand)}")
        return _entry(operand, index, is_optional=is_optional)

    def _list(self, node: ListOf, scope: Scope) -> list[Any]:
        found = []
        for each, is_optional in node.elements:
            value = self.value(each, scope)
            if not is_optional:
                found.append(value)
            elif _is_present(value):
                found.append(value.value)
        return found

    def _map(self, node: MapOf, scope: Scope) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for each, other, is_optional in node.entries:
            key, value = self.value(each, scope), self.value(other, scope)
            if not _is_key(key):
                raise CelError(f"a {kind_of(key)} as key of a map")
            if not is_optional:
                found[key] = value
            elif _is_present(value):
                found[key] = value.value
        return found

    def _call(self, node: Call, scope: Scope) -> Any:
        if node.function == "?:":
            condition, yes, no = node.arguments
            return self.value(yes if self._truth(condition, scope) else no, scope)
        values = [self.value(each, scope) for each in node.arguments]
        sizes = [self._size(each) for each in values]
        if node.function.startswith("sets."):
            self._step(math.prod(sizes))
        elif node.function in _PATTERNS and isinstance(values[-1], str):
            self._step(len(values[-1]))  # the pattern is compiled
        if node.function in _UNARY and len(values) == 1:
            return _UNARY[node.function](values[0])
        if node.function in _BINARY and not node.is_method:
            return _BINARY[node.function](*values)
        function, _ = (METHODS if node.is_method else FUNCTIONS)[node.function]
        return function(*values)

    def _size(self, value: Any) -> int:
        """Count the steps of reading a value with everything in it: a list may have another one many times."""
        before = self.steps
        self._step()
        if isinstance(value, str):
            self._step(len(value) // _CHARACTERS_PER_STEP)
        elif isinstance(value, list):
            for each in value:
                self._size(each)
        elif isinstance(value, dict):
            for each in value.values():
                self._size(each)
        return self.steps - before

    def _macro(self, node: Macro, scope: Scope) -> Any:
        operand = self.value(node.range, scope)
        if isinstance(operand, Optional):
            return self._of_optional(node, operand, scope)
        if node.kind in {"all", "exists"}:
            return self._quantified(node, operand, scope)
        found: list[Any] = []
        for each, inner in self._turns(node, operand, scope):
            if node.kind in {"filter", "exists_one"}:
                if self._truth(node.body, inner):
                    found.append(each)
            elif node.condition is None or self._truth(node.condition, inner):
                found.append(self.value(node.body, inner))
        return len(found) == 1 if node.kind == "exists_one" else found

    def _quantified(self, node: Macro, operand: Any, scope: Scope) -> bool:
        decides, failure = node.kind == "exists", None
        for _, inner in self._turns(node, operand, scope):
            try:
                if self._truth(node.body, inner) is decides:
                    return decides
            except CelError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return not decides

    def _turns(self, node: Macro, operand: Any, scope: Scope) -> Iterator[tuple[Any, Scope]]:
        """Yield the elements of a list or the keys of a map, each with the scope of its turn."""
        if not isinstance(operand, list | Mapping):
            raise CelError(f"no elements in a {kind_of(operand)}")
        is_map = isinstance(operand, Mapping)
        for number, each in enumerate(operand):
            self._step()
            if len(node.names) == 1:
                yield each, {**scope, node.names[0]: each}
            else:
                first, second = (each, operand[each]) if is_map else (number, each)
                yield each, {**scope, node.names[0]: first, node.names[1]: second}

    def _of_optional(self, node: Macro, operand: Optional, scope: Scope) -> Optional:
        if node.kind not in {"optMap", "optFlatMap"}:
            raise CelError("no elements in an optional")
        if not operand.is_present:
            return NONE
        value = self.value(node.body, {**scope, node.names[0]: operand.value})
        if node.kind == "optMap":
            return Optional(value)
        if not isinstance(value, Optional):
            raise CelError(f"a {kind_of(value)} where an optional is expected")
        return value


def _entry(operand: Mapping[Any, Any], key: Any, *, is_optional: bool) -> Any:
    is_there = isinstance(key, str) if isinstance(operand, TotalMap) else _is_key(key) and key in operand
    if is_optional:
        return Optional(operand[key]) if is_there else NONE
    if not is_there:
        raise CelError(f"no such key: {key}")
    return operand[key]


def _is_key(value: Any) -> bool:
    return isinstance(value, bool | int | str)


def _is_present(value: Any) -> bool:
    if not isinstance(value, Optional):
        raise CelError(f"a {kind_of(value)} where an optional is expected")
    return value.is_present


def _plus(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    return _calculated(left, right, lambda one, other: one + other)


def _calculated(left: Any, right: Any, function: Callable[[Any, Any], Any]) -> Any:
    if not (is_number(left) and type(left) is type(right)):
        raise CelError(f"no such operation on {kind_of(left)} and {kind_of(right)}")
    result = function(left, right)
    return integer(result) if isinstance(left, int) else result


def _divided(left: Any, right: Any) -> Any:
    if isinstance(left, float) and isinstance(right, float):
        if right == 0:
            is_undefined = left == 0 or math.isnan(left)
            return math.nan if is_undefined else math.copysign(math.inf, left * math.copysign(1, right))
        return left / right
    return _calculated(left, right, lambda one, other: _quotient(one, other)[0])


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        raise CelError("no remainder of doubles")
    return _calculated(left, right, lambda one, other: _quotient(one, other)[1])


def _quotient(left: int, right: int) -> tuple[int, int]:
    """Divide towards zero; the remainder has the sign of the dividend."""
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right) * (1 if (left < 0) is (right < 0) else -1)
    return quotient, left - quotient * right


def _negated(value: Any) -> Any:
    if not is_number(value):
        raise CelError(f"no negative of a {kind_of(value)}")
    return integer(-value) if isinstance(value, int) else -value


def _inverted(value: Any) -> bool:
    if not isinstance(value, bool):
        raise CelError(f"a {kind_of(value)} where a bool is expected")
    return not value


_UNARY: Final[Mapping[str, Callable[[Any], Any]]] = {"!": _inverted, "negate": _negated}
_BINARY: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": _plus,
    "-": lambda left, right: _calculated(left, right, lambda one, other: one - other),
    "*": lambda left, right: _calculated(left, right, lambda one, other: one * other),
    "/": _divided,
    "%": _remainder,
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": lambda left, right: compared(left, right) < 0,
    "<=": lambda left, right: compared(left, right) <= 0,
    ">": lambda left, right: compared(left, right) > 0,
    ">=": lambda left, right: compared(left, right) >= 0,
    "in": lambda value, container: contains(container, value),
}
