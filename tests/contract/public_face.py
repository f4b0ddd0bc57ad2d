"""What `pyroclast` and `pyroclast.testing` promise, as text: names, signatures, fields, extension points.

`python tests/contract/public_face.py` writes it anew into public_face.txt, when a change is meant.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

import pyroclast
import pyroclast.testing

CONSTRUCTED = frozenset(
    {"ArgumentError", "BindOutcome", "ConfigError", "PlanOutcome", "Preparation", "Reason", "Refusal", "Scenario"}
)
"""What outsiders make themselves; everything else is handed to them."""
RECORD = Path(__file__).with_name("public_face.txt")


def face() -> str:
    """Return the promise."""
    lines: list[str] = []
    for module in (pyroclast, pyroclast.testing):
        for name in sorted(module.__all__):
            lines += _described(f"{module.__name__}.{name}", getattr(module, name))
    return re.sub(r" at 0x[0-9a-f]+", "", "\n".join(lines)) + "\n"


def _described(name: str, value: Any) -> Iterator[str]:
    if value is pyroclast.contract:
        for point in pyroclast.contract.ALL_POINTS:
            shapes = " | ".join(str(inspect.signature(shape.__call__)) for shape in point.shapes)
            yield f"{name}.{point.name}: flag {point.flag}, {point.combine}, {shapes}"
    elif inspect.isclass(value):
        yield f"{name}: class"
        yield from (f"{name}.{line}" for line in _members(value))
    elif inspect.isfunction(value):
        yield f"{name}{inspect.signature(value)}"
    else:
        yield f"{name}: {getattr(value, '__supertype__', None) or value}"


def _members(kind: type) -> Iterator[str]:
    if issubclass(kind, Enum):
        yield from (f"{member.name} = {member.value!r}" for member in kind)
        return
    if kind.__name__ in CONSTRUCTED:
        yield f"__init__{inspect.signature(kind)}"
    for name in sorted(name for name in dir(kind) if not name.startswith("_") and not hasattr(Exception, name)):
        value = inspect.getattr_static(kind, name)
        if inspect.isfunction(value):
            yield f"{name}{inspect.signature(value)}"
        elif isinstance(value, property):
            yield f"{name}: property"
        elif not inspect.isclass(value):
            yield f"{name}: attribute"


if __name__ == "__main__":
    RECORD.write_text(face(), encoding="utf-8")
