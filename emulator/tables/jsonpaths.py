"""The part of JSONPath that printer columns use: `.a.b`, `[0]`, `[*]`, `['a']`, `[?(@.type=="Ready")]`, `..a`."""

import functools
import json
import re
from collections.abc import Callable
from typing import Any

__all__ = ["JsonPathError", "find"]

Step = Callable[[Any], list[Any]]


class JsonPathError(Exception):
    """The text is no JSONPath that a printer column may use."""


_STEP = re.compile(
    r"""(?P<deep>\.\.)?\.?(?P<name>(?:[^.\[\]{}\\'"]|\\.)+)
    |\[(?P<index>-?\d+)\]
    |(?P<all>\[\*\]|\.\*)
    |\[(?P<low>-?\d*):(?P<high>-?\d*)\]
    |\[(?P<quote>['"])(?P<key>.*?)(?P=quote)\]
    |\[\?\(\s*@(?P<left>[^=!<>\s]+?)\s*(?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<right>.+?))?\s*\)\]
    """,
    re.VERBOSE,
)


def find(value: Any, path: str) -> list[Any]:
    """Return all values at `path`; none if it does not exist.

    Raises:
        JsonPathError: The path cannot be read.
    """
    found = [value]
    for step in _parse(path):
        found = [item for parent in found for item in step(parent)]
    return found


@functools.lru_cache(maxsize=512)
def _parse(path: str) -> tuple[Step, ...]:
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    steps: list[Step] = []
    position = 0
    while position < len(text):
        if text[position:] == ".":
            break
        match = _STEP.match(text, position)
        if not match or match.end() == position:
            raise JsonPathError(f"{path!r} cannot be read from {text[position:]!r}")
        steps.append(_step(match))
        position = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match["name"] is not None:
        name = re.sub(r"\\(.)", r"\1", match["name"])
        if name == "*":
            return _children
        return functools.partial(_deep, name=name) if match["deep"] else functools.partial(_field, name=name)
    if match["index"] is not None:
        return functools.partial(_item, place=int(match["index"]))
    if match["all"] is not None:
        return _children
    if match["low"] is not None:
        low, high = match["low"], match["high"]
        bounds = slice(int(low) if low else None, int(high) if high else None)
        return lambda value: value[bounds] if isinstance(value, list) else []
    if match["quote"] is not None:
        return functools.partial(_field, name=match["key"])
    return functools.partial(_filter, left=match["left"], operator=match["operator"], right=_literal(match["right"]))


def _literal(text: str | None) -> Any:
    if text is None:
        return None
    if text[0] in "'\"" and text[-1] == text[0]:
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError as error:
        raise JsonPathError(f"{text!r} is neither a string nor a number") from error


def _field(value: Any, name: str) -> list[Any]:
    return [value[name]] if isinstance(value, dict) and name in value else []


def _item(value: Any, place: int) -> list[Any]:
    return [value[place]] if isinstance(value, list) and -len(value) <= place < len(value) else []


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _deep(value: Any, name: str) -> list[Any]:
    return _field(value, name) + [item for child in _children(value) for item in _deep(child, name)]


def _filter(value: Any, left: str, operator: str | None, right: Any) -> list[Any]:
    return [item for item in _children(value) if _holds(find(item, left), operator, right)]


def _holds(found: list[Any], operator: str | None, right: Any) -> bool:
    if not found or operator is None:
        return bool(found)
    left = found[0]
    if operator == "==":
        return bool(left == right)
    if operator == "!=":
        return bool(left != right)
    try:
        return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator])
    except TypeError:
        return False
