"""Amounts in the format of extenders."""

from typing import Any, Final

from pyroclast.model.resources import CPU, MEMORY, MILLI, PODS, Amounts

__all__ = ["resource"]

_OWN_FIELDS: Final = frozenset({CPU, MEMORY, PODS})


def resource(amounts: Amounts) -> dict[str, Any]:
    """Return amounts, in thousandths by name, as a `Resource`: whole bytes, number of pods, others in thousandths."""
    pods = amounts.get(PODS, 0) // MILLI
    scalars = {name: millis for name, millis in sorted(amounts.items()) if name not in _OWN_FIELDS}
    if pods:
        scalars[PODS] = pods
    return {
        "MilliCPU": amounts.get(CPU, 0),
        "Memory": amounts.get(MEMORY, 0) // MILLI,
        "ScalarResources": scalars or None,
        "MaxTaskNum": pods,
    }
