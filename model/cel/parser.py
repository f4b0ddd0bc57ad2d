"""Parser: the text of an expression as a tree.

Grammar: the language definition of CEL, without messages and with optional syntax (`.?`, `[?]`). Macros become nodes
of their own. Source: https://github.com/google/cel-spec.
"""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from pyroclast.model.errors import PyroclastError
from pyroclast.model.texts import shortened

__all__ = [
    "MOST_CHARACTERS",
    "Bind",
    "Call",
    "CelError",
    "Index",
    "ListOf",
    "Literal",
    "Logic",
    "Macro",
    "MapOf",
    "Name",
    "Node",
    "Select",
    "parse",
]

MOST_CHARACTERS: Final = 10 * 1024
"""Longest expression, in characters; the limit of the API server."""
_DEEPEST: Final = 60
"""Levels of nesting. Each costs several levels of Python's stack."""
_LARGEST: Final = 2**63
_MOST_DIGITS: Final = 19
"""Digits of a 64-bit integer."""
_SURROGATES: Final = range(0xD800, 0xE000)

_MACROS: Final = {
    "all": (2, 3),
    "exists": (2, 3),
    "exists_one": (2,),
    "existsOne": (2, 3),
    "filter": (2,),
    "map": (2, 3),
}
"""Numbers of arguments: with one variable, with two, or for `map` with a condition."""
_OPTIONAL_MACROS: Final = frozenset({"optMap", "optFlatMap"})
_NAMESPACES: Final = frozenset({"cel", "math", "optional", "sets"})


class CelError(PyroclastError):
    """An expression that cannot be parsed, or an evaluation without result."""


class Literal(NamedTuple):
    """A constant."""

    value: Any


class Name(NamedTuple):
    """A variable."""

    name: str


class Select(NamedTuple):
    """A field of a map; `is_test` is the macro `has`."""

    operand: "Node"
    field: str
    is_optional: bool = False
    is_test: bool = False


class Index(NamedTuple):
    """An element of a list or map."""

    operand: "Node"
    key: "Node"
    is_optional: bool = False


class Call(NamedTuple):
    """A function or an operator; `arguments` begin with the receiver of a method."""

    function: str
    arguments: tuple["Node", ...]
    is_method: bool = False


class Logic(NamedTuple):
    """`&&` or `||` of all operands."""

    is_and: bool
    operands: tuple["Node", ...]


class ListOf(NamedTuple):
    """A list; an optional element without value is left out."""

    elements: tuple[tuple["Node", bool], ...]


class MapOf(NamedTuple):
    """A map; an optional entry without value is left out."""

    entries: tuple[tuple["Node", "Node", bool], ...]


class Macro(NamedTuple):
    """A loop over a list, or over the keys of a map."""

    kind: str
    range: "Node"
    names: tuple[str, ...]
    body: "Node"
    condition: "Node | None" = None
    """The filter of a `map` with three arguments."""


class Bind(NamedTuple):
    """`cel.bind`: a variable for one expression."""

    name: str
    value: "Node"
    body: "Node"


Node = Literal | Name | Select | Index | Call | Logic | ListOf | MapOf | Macro | Bind

_STRING: Final = (
    r'"""(?:[^\\]|\\.)*?"""' + r"|'''(?:[^\\]|\\.)*?'''" + r'|"(?:[^"\\\n]|\\.)*"' + r"|'(?:[^'\\\n]|\\.)*'"
)
_RAW: Final = r'"""(?:.)*?"""' + r"|'''(?:.)*?'''" + r'|"[^"\n]*"' + r"|'[^'\n]*'"
_TOKEN: Final = re.compile(
    rf"""(?P<space>\s+|//[^\n]*)
    |(?P<raw>[rR](?:{_RAW}))
    |(?P<string>{_STRING})
    |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<operator>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{{}}])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_PLAIN_ESCAPES: Final = dict(zip("\\\"'`?abfnrtv", "\\\"'`?\a\b\f\n\r\t\v", strict=True))
_RELATIONS: Final = frozenset({"<", "<=", ">", ">=", "==", "!=", "in"})
_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def parse(text: str) -> Node:
    """Return the tree of an expression.

    Raises:
        CelError: The text is no expression, or too long or too deeply nested.
    """
    if len(text) > MOST_CHARACTERS:
        raise CelError(f"the expression has more than {MOST_CHARACTERS} characters")
    return _Parser(text).whole()


def _tokens(text: str) -> list[_Token]:
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise CelError(f"unexpected {text[at]!r} at character {at + 1}")
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(_Token(kind, match.group(), at))
        at = match.end()
    tokens.append(_Token("end", "", len(text)))
    return tokens


class _Parser:
    """Recursive descent, one method for each level of precedence."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._expression()
        if self._token.kind != "end":
            raise self._unexpected()
        return node

    @property
    def _token(self) -> _Token:
        return self._tokens[self._at]

    def _unexpected(self) -> CelError:
        token = self._token
        what = repr(token.text) if token.text else "end"
        return CelError(f"unexpected {what} at character {token.at + 1}")

    def _takes(self, text: str) -> bool:
        if self._token.kind in {"operator", "name"} and self._token.text == text:
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            raise self._unexpected()

    def _name(self) -> str:
        token = self._token
        if token.kind != "name" or token.text in _WORDS or token.text == "in":
            raise self._unexpected()
        self._at += 1
        return token.text

    def _deeper(self, levels: int = 1) -> None:
        self._depth += levels
        if self._depth > _DEEPEST:
            raise CelError(f"the expression is nested deeper than {_DEEPEST} levels")

    def _expression(self) -> Node:
        self._deeper()
        node = self._any()
        if self._takes("?"):
            yes = self._any()
            self._expect(":")
            node = Call("?:", (node, yes, self._expression()))
        self._depth -= 1
        return node

    def _any(self) -> Node:
        return self._logic("||", self._all)

    def _all(self) -> Node:
        return self._logic("&&", self._relation)

    def _logic(self, operator: str, inner: Callable[[], Node]) -> Node:
        operands = [inner()]
        while self._takes(operator):
            operands.append(inner())
        return operands[0] if len(operands) == 1 else Logic(operator == "&&", tuple(operands))

    def _relation(self) -> Node:
        return self._chain(_RELATIONS, self._sum)

    def _sum(self) -> Node:
        return self._chain(frozenset({"+", "-"}), self._product)

    def _product(self) -> Node:
        return self._chain(frozenset({"*", "/", "%"}), self._unary)

    def _chain(self, operators: frozenset[str], inner: Callable[[], Node]) -> Node:
        node, links = inner(), 0
        while self._token.kind in {"operator", "name"} and self._token.text in operators:
            operator = self._token.text
            self._at += 1
            links += 1
            self._deeper()
            node = Call(operator, (node, inner()))
        self._depth -= links
        return node

    def _unary(self) -> Node:
        self._deeper()
        try:
            if self._takes("!"):
                return Call("!", (self._unary(),))
            if self._takes("-"):
                if self._token.kind == "int":
                    return self._members(Literal(self._integer(-1)))
                return Call("negate", (self._unary(),))
            return self._members(self._primary())
        finally:
            self._depth -= 1

    def _integer(self, sign: int) -> int:
        text = self._token.text
        digits = text.removeprefix("0x").lstrip("0") or "0"
        # Python refuses to convert very long texts, with an error of its own
        value = sign * int(digits, 16 if text.startswith("0x") else 10) if len(digits) <= _MOST_DIGITS else _LARGEST
        if not -_LARGEST <= value < _LARGEST:
            raise CelError(f"{shortened(text)} is no 64-bit integer")
        self._at += 1
        return value

    def _members(self, node: Node) -> Node:
        links = 0
        while True:
            links += 1
            self._deeper()
            if self._takes("."):
                is_optional = self._takes("?")
                node = self._member(node, self._name(), is_optional=is_optional)
            elif self._takes("["):
                is_optional = self._takes("?")
                node = Index(node, self._expression(), is_optional)
                self._expect("]")
            else:
                self._depth -= links
                return node

    def _member(self, node: Node, name: str, *, is_optional: bool) -> Node:
        if is_optional or not self._takes("("):
            return Select(node, name, is_optional)
        arguments = self._arguments(")")
        if isinstance(node, Name) and node.name in _NAMESPACES:
            if node.name == "cel" and name == "bind" and len(arguments) == 3:
                return Bind(_variable(arguments[0]), arguments[1], arguments[2])
            return Call(f"{node.name}.{name}", arguments)
        if name in _MACROS and len(arguments) in _MACROS[name]:
            return _macro(name, node, arguments)
        if name in _OPTIONAL_MACROS and len(arguments) == 2:
            return Macro(name, node, (_variable(arguments[0]),), arguments[1])
        return Call(name, (node, *arguments), is_method=True)

    def _arguments(self, end: str) -> tuple[Node, ...]:
        arguments: list[Node] = []
        while not self._takes(end):
            arguments.append(self._expression())
            if not self._takes(","):
                self._expect(end)
                break
        return tuple(arguments)

    def _primary(self) -> Node:
        token = self._token
        match token.kind:
            case "int":
                return Literal(self._integer(1))
            case "float":
                self._at += 1
                return Literal(float(token.text))
            case "string":
                self._at += 1
                return Literal(_unescaped(_inside(token.text)))
            case "raw":
                self._at += 1
                return Literal(_inside(token.text[1:]))
            case "name":
                return self._named()
        if self._takes("("):
            node = self._expression()
            self._expect(")")
            return node
        if self._takes("["):
            return self._list()
        if self._takes("{"):
            return self._map()
        self._takes(".")  # a leading dot names the root, where all variables are
        return self._named()

    def _named(self) -> Node:
        if self._token.kind == "name" and self._token.text in _WORDS:
            self._at += 1
            return Literal(_WORDS[self._tokens[self._at - 1].text])
        name = self._name()
        if not self._takes("("):
            return Name(name)
        arguments = self._arguments(")")
        if name != "has":
            return Call(name, arguments)
        if len(arguments) != 1 or not isinstance(arguments[0], Select):
            raise CelError("has() takes the field of a map, such as has(a.b)")
        return arguments[0]._replace(is_test=True)

    def _list(self) -> Node:
        elements: list[tuple[Node, bool]] = []
        while not self._takes("]"):
            is_optional = self._takes("?")
            elements.append((self._expression(), is_optional))
            if not self._takes(","):
                self._expect("]")
                break
        return ListOf(tuple(elements))

    def _map(self) -> Node:
        entries: list[tuple[Node, Node, bool]] = []
        while not self._takes("}"):
            is_optional = self._takes("?")
            key = self._expression()
            self._expect(":")
            entries.append((key, self._expression(), is_optional))
            if not self._takes(","):
                self._expect("}")
                break
        return MapOf(tuple(entries))


def _macro(name: str, node: Node, arguments: tuple[Node, ...]) -> Node:
    kind = "exists_one" if name == "existsOne" else name
    if name == "map" and len(arguments) == 3:
        return Macro(kind, node, (_variable(arguments[0]),), arguments[2], arguments[1])
    return Macro(kind, node, tuple(_variable(each) for each in arguments[:-1]), arguments[-1])


def _variable(node: Node) -> str:
    if not isinstance(node, Name):
        raise CelError("the first argument of a macro is the name of a variable")
    return node.name


def _inside(text: str) -> str:
    width = 3 if text[:3] in {'"""', "'''"} and len(text) >= 6 else 1
    return text[width:-width]


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        *numbers, octal, plain = match.groups()
        code = next((number for number in numbers if number), None)
        if code is not None or octal:
            value = int(code, 16) if code is not None else int(octal, 8)
            if value > 0x10FFFF or value in _SURROGATES:
                raise CelError(f"{match.group()} is no character")
            return chr(value)
        if plain not in _PLAIN_ESCAPES:
            raise CelError(f"{match.group()!r} is no escape sequence")
        return _PLAIN_ESCAPES[plain]

    return _ESCAPE.sub(character, text)
