"""Continue tokens: where the next page of a list begins, written, read and refused as kube-apiserver does.

A token is base64 of `{"v": "meta.k8s.io/v1", "rv": <revision>, "start": <first key of the page>}`; after a page whose
last key is `a` it is `a` with a zero byte, the very next key there could be.
"""

import base64
import json
import posixpath
import re
from typing import Any, Final

from pyroclast.emulator.statuses import ApiError, bad_request

__all__ = ["read_continue", "write_continue"]

_VERSION: Final = "meta.k8s.io/v1"
_OUTSIDE: Final = re.compile(rb"[^A-Za-z0-9_\-\r\n]")
_INT64: Final = range(-(2**63), 2**63)
_FIELDS: Final = {"v": "string", "rv": "int64", "start": "string"}


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


class _Pairs(list[tuple[str, Any]]):
    """An object in the order in which it was written."""


def write_continue(revision: int, key: str, namespace: str) -> str:
    """Make the token of the page that begins after a key."""
    start = key[len(namespace) + 1 :] if namespace else key
    text = json.dumps({"v": _VERSION, "rv": revision, "start": f"{start}\0"}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_continue(token: str, namespace: str) -> tuple[int, str]:
    """Return the revision and the first key of a page; one of cluster-wide objects without the slash before it.

    Raises:
        ApiError: 400 when it is no token, with the words of Go's decoders.
    """
    fields = _fields(_parsed(_decoded(token).decode(errors="replace")))
    if fields["v"] != _VERSION:
        raise _invalid(f": server does not recognize this encoded version {fields['v']}")
    if not fields["rv"]:
        raise _invalid(f": incorrect encoded start resourceVersion (version {_VERSION})")
    if not fields["start"]:
        raise _invalid(f": encoded start key empty (version {_VERSION})")
    start: str = fields["start"]
    key = start if start.startswith("/") else f"/{start}"
    if posixpath.normpath("/" + key.lstrip("/")) != key:
        raise _invalid(f": {start}")
    return fields["rv"], f"{namespace}{key}" if namespace else key[1:]


def _invalid(why: str) -> ApiError:
    return bad_request(f"invalid continue token: continue key is not valid{why}")


def _decoded(token: str) -> bytes:
    """Undo base64 without padding; ends of lines do not count."""
    written = token.encode()
    outside = _OUTSIDE.search(written)
    letters = re.sub(rb"[\r\n]", b"", written)
    if outside is not None or len(letters) % 4 == 1:
        raise _invalid(f": illegal base64 data at input byte {outside.start() if outside else len(written) - 1}")
    return base64.urlsafe_b64decode(letters + b"=" * (-len(letters) % 4))


def _parsed(text: str) -> Any:
    try:
        return json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=_no_constant, object_pairs_hook=_Pairs
        )
    except json.JSONDecodeError as error:
        raise _invalid(f": {_in_go(text, error)}") from error
    except (RecursionError, _ConstantError) as error:
        raise _invalid(f": {error}") from error


class _ConstantError(ValueError):
    """A constant that Python reads and JSON does not have."""


def _no_constant(name: str) -> None:
    raise _ConstantError(f"invalid character {_quoted(name.lstrip('-')[0])} looking for beginning of value")


def _in_go(text: str, error: json.JSONDecodeError) -> str:
    """Say what is wrong with JSON in the words of Go."""
    where = {
        "Expecting value": "looking for beginning of value",
        "Extra data": "after top-level value",
        "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
        "Illegal trailing comma before end of object": "looking for beginning of object key string",
        "Illegal trailing comma before end of array": "looking for beginning of value",
        "Expecting ':' delimiter": "after object key",
        "Expecting ',' delimiter": _after(text[: error.pos]),
        "Invalid control character at": "in string literal",
        "Invalid \\escape": "in string escape code",
        "Invalid \\uXXXX escape": "in \\u hexadecimal character escape",
    }
    position = error.pos + (error.msg == "Invalid \\escape")
    if error.msg == "Invalid \\uXXXX escape":
        position = re.compile("u[0-9A-Fa-f]*").match(text, position).end()  # type: ignore[union-attr] # it starts with u
    expected = next((words for start, words in where.items() if error.msg.startswith(start)), "")
    if not expected or position >= len(text):
        return "unexpected end of JSON input"
    return f"invalid character {_quoted(text[position])} {expected}"


def _after(text: str) -> str:
    """Return whether a value has just ended in an object or in an array."""
    bare = re.sub(r'"(\\.|[^"\\])*"', "", text)
    depth = 0
    for letter in reversed(bare):
        depth += (letter in "]}") - (letter in "[{")
        if depth < 0:
            return "after object key:value pair" if letter == "{" else "after array element"
    return "after top-level value"


def _quoted(letter: str) -> str:
    special = {"'": "\\'", '"': '"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    plain = letter if letter.isprintable() else f"\\x{ord(letter):02x}"
    return f"'{special.get(letter, plain)}'"


def _fields(parsed: Any) -> dict[str, Any]:
    """Read the fields as Go does: names are case-insensitive, in order; the first wrong type is the error."""
    fields: dict[str, Any] = {"v": "", "rv": 0, "start": ""}
    if parsed is None:
        return fields
    if not isinstance(parsed, _Pairs):
        raise _invalid(f": json: cannot unmarshal {_kind(parsed)} into Go value of type storage.continueToken")
    fault = None
    for key, value in parsed:
        name = key.lower()
        if name not in _FIELDS or value is None:
            continue
        expected, got = _FIELDS[name], _kind(value)
        if expected == "int64" and got == "number":
            if re.fullmatch(r"-?[0-9]{1,20}", value) and int(value) in _INT64:
                fields[name] = int(value)
                continue
            got = f"number {value}"
        elif expected == got:
            fields[name] = value
            continue
        fault = fault or f": json: cannot unmarshal {got} into Go struct field continueToken.{name} of type {expected}"
    if fault is not None:
        raise _invalid(fault)
    return fields


def _kind(value: Any) -> str:
    """Name the kind of a JSON value as Go does."""
    if isinstance(value, _Number):
        return "number"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, _Pairs) else "array"
