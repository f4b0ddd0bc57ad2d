"""The part of CEL that rules in schemas are written in most: fields, `has`, `size`, arithmetic, comparisons, choices.

`compile_expression` gives a function from `self` to a value. What the grammar here does not know (macros over lists,
`oldSelf`, functions on texts) is `UnreadableExpression`: the caller lets such a rule pass.
"""

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["EvaluationError", "Expression", "UnreadableExpression", "compile_expression"]

Expression = Callable[[Any], Any]


class UnreadableExpression(Exception):  # noqa: N818 - not a fault: an expression beyond this part of CEL
    """The expression needs more of CEL than is here."""


class EvaluationError(Exception):
    """The expression has no value for this object, in CEL's words."""


_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<number>\d+)|(?P<text>"[^"\\]*"|'[^'\\]*')|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<sign>&&|\|\||==|!=|<=|>=|[<>!?:+\-*.,()\[\]]))"""
)
_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda item, whole: item in whole,
}
_SUMS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {"+": operator.add, "-": operator.sub}
_PRODUCTS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {"*": operator.mul}
_CONSTANTS: Final[Mapping[str, Any]] = {"true": True, "false": False, "null": None}


def compile_expression(source: str) -> Expression:
    """Build the function that evaluates an expression.

    Raises:
        UnreadableExpression: It needs more of CEL than is here. Its function raises `EvaluationError`.
    """
    reader = _Reader(_tokens(source))
    expression = reader.choice()
    reader.expect("")
    return expression


def _tokens(source: str) -> list[str]:
    tokens, place = [], 0
    source = source.rstrip()
    while place < len(source):
        found = _TOKEN.match(source, place)
        if found is None:
            raise UnreadableExpression(source)
        tokens.append(found.group().strip())
        place = found.end()
    return [*tokens, ""]


class _Reader:
    """Reads tokens from left to right, loosest operators first; each method leaves the first token that is not its."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._place = 0

    @property
    def token(self) -> str:
        """The token that comes next; empty at the end."""
        return self._tokens[self._place]

    def take(self, *wanted: str) -> str:
        """Take the next token when it is one of those wanted, else return nothing."""
        token = self.token
        if token not in wanted:
            return ""
        self._place += 1
        return token

    def next(self) -> str:
        """Take the next token, whatever it is."""
        token = self.token
        self._place += 1
        return token

    def expect(self, wanted: str) -> None:
        """Take one token that must be there."""
        if self.token != wanted:
            raise UnreadableExpression(self.token)
        self._place += bool(wanted)

    def choice(self) -> Expression:
        """`condition ? then : otherwise`."""
        condition = self.either()
        if not self.take("?"):
            return condition
        then = self.choice()
        self.expect(":")
        otherwise = self.choice()
        return lambda this: then(this) if condition(this) else otherwise(this)

    def either(self) -> Expression:
        """Operands of `||`."""
        left = self.both()
        while self.take("||"):
            left = _either(left, self.both())
        return left

    def both(self) -> Expression:
        """Operands of `&&`."""
        left = self.comparison()
        while self.take("&&"):
            left = _both(left, self.comparison())
        return left

    def comparison(self) -> Expression:
        """Operands of `==` and its like."""
        return self._operands(
            _COMPARISONS, lambda: self._operands(_SUMS, lambda: self._operands(_PRODUCTS, self.unary))
        )

    def _operands(
        self, signs: Mapping[str, Callable[[Any, Any], Any]], operand: Callable[[], Expression]
    ) -> Expression:
        left = operand()
        while sign := self.take(*signs):
            left = _applied(signs[sign], left, operand())
        return left

    def unary(self) -> Expression:
        """`!` and `-`."""
        if self.take("!"):
            inner = self.unary()
            return lambda this: not inner(this)
        if self.take("-"):
            negated = self.unary()
            return lambda this: -negated(this)
        return self.member()

    def member(self) -> Expression:
        """Something, and the fields and items taken from it."""
        expression = self.primary()
        while True:
            if self.take("."):
                name = self.next()
                expression = self._method(name, expression) if self.take("(") else _field(expression, name)
            elif self.take("["):
                expression = _applied(_item, expression, self.choice())
                self.expect("]")
            else:
                return expression

    def _method(self, name: str, subject: Expression) -> Expression:
        """`subject.size()`; the parenthesis is open."""
        self.expect(")")
        if name != "size":
            raise UnreadableExpression(name)
        return lambda this: len(subject(this))

    def primary(self) -> Expression:
        """A constant, `self`, a call, or an expression in parentheses."""
        token = self.next()
        if token == "(":  # noqa: S105 - a sign of the grammar, no secret
            inner = self.choice()
            self.expect(")")
            return inner
        if token.isdigit():
            return lambda _this: int(token)
        if token[:1] in {"'", '"'}:
            return lambda _this: token[1:-1]
        if token in _CONSTANTS:
            return lambda _this: _CONSTANTS[token]
        if token == "self":  # noqa: S105 - as above
            return lambda this: this
        if token in {"has", "size"} and self.take("("):
            return self._call(token)
        raise UnreadableExpression(token)

    def _call(self, name: str) -> Expression:
        inner = self.choice()
        self.expect(")")
        return _has(inner) if name == "has" else lambda this: len(inner(this))


def _either(left: Expression, right: Expression) -> Expression:
    return lambda this: left(this) or right(this)


def _both(left: Expression, right: Expression) -> Expression:
    return lambda this: left(this) and right(this)


def _applied(apply: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    def evaluate(this: Any) -> Any:
        try:
            return apply(left(this), right(this))
        except TypeError:
            raise EvaluationError("no such overload") from None

    return evaluate


def _field(subject: Expression, name: str) -> Expression:
    def evaluate(this: Any) -> Any:
        whole = subject(this)
        if not isinstance(whole, dict) or name not in whole:
            raise EvaluationError(f"no such key: {name}")
        return whole[name]

    return evaluate


def _item(whole: Any, place: Any) -> Any:
    try:
        return whole[place]
    except IndexError:
        raise EvaluationError(f"index out of bounds: {place}") from None
    except KeyError:
        raise EvaluationError(f"no such key: {place}") from None


def _has(inner: Expression) -> Expression:
    def evaluate(this: Any) -> bool:
        try:
            inner(this)
        except EvaluationError:
            return False
        return True

    return evaluate
