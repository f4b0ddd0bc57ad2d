"""Values of annotations and labels, spelled as Volcano spells them."""

import math
import re
from typing import Final

from model import wire

__all__ = [
    "GROUP_NAME",
    "PREEMPTABLE",
    "QUEUE_NAME",
    "REVOCABLE_ZONE",
    "TASK_PRIORITY",
    "TASK_SPEC",
    "annotation_or_label",
    "parse_bool",
    "parse_duration",
    "parse_float",
    "parse_int32",
]

GROUP_NAME: Final = "scheduling.k8s.io/group-name"
TASK_SPEC: Final = "volcano.sh/task-spec"
TASK_PRIORITY: Final = "volcano.sh/task-priority"
PREEMPTABLE: Final = "volcano.sh/preemptable"
REVOCABLE_ZONE: Final = "volcano.sh/revocable-zone"
QUEUE_NAME: Final = "scheduling.volcano.sh/queue-name"

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DURATION = re.compile(
    r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII
)  # both signs that Go reads as micro
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def annotation_or_label(metadata: wire.ObjectMeta, key: str) -> str | None:
    """Return an annotation, else the label of the same key, else None."""
    value = metadata.annotations.get(key)
    return metadata.labels.get(key) if value is None else value


def parse_bool(text: str) -> bool:
    """Read a boolean in Go's vocabulary.

    Raises:
        ValueError: The text is not of it.
    """
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"{text!r} is not a boolean (true or false)")


def parse_int32(text: str) -> int:
    """Read a 32-bit integer.

    Raises:
        ValueError: The text is none.
    """
    if not _INTEGER.fullmatch(text) or not -(2**31) <= int(text) < 2**31:
        raise ValueError(f"{text!r} is not a 32-bit integer")
    return int(text)


def parse_float(text: str) -> float:
    """Read a finite number.

    Raises:
        ValueError: The text is none.
    """
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is not a finite number")
    return value


def parse_duration(text: str) -> float:
    """Read a duration as Go writes it, `1h30m`, in seconds.

    Raises:
        ValueError: The text is no duration.
    """
    sign, unsigned = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    if unsigned == "0":
        return 0.0
    pieces = _DURATION.findall(unsigned)
    if not pieces or "".join(number + unit for number, unit in pieces) != unsigned:
        raise ValueError(f"{text!r} is not a duration such as 90s or 1h30m")
    return sign * sum(float(number) * _SECONDS[unit] for number, unit in pieces)
