"""Arguments of usage, spelled as in the configuration file."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from pyroclast.framework.configuration.arguments import argument
from pyroclast.model.quantity import QuantityError, millis, parse, units

__all__ = ["MIB", "Estimator", "Thresholds", "UsageArgs"]

MIB: Final = 2**20


def _cpu_millis(value: object) -> int:
    """Read thousandths of a CPU, or a quantity."""
    return _amount(value, lambda text: millis(parse(text)), 1, "thousandths of a CPU or a quantity such as 250m")


def _mebibytes(value: object) -> Fraction:
    """Read mebibytes, or a quantity."""
    expected = "mebibytes or a quantity such as 200Mi"
    return Fraction(_amount(value, lambda text: units(parse(text)), MIB, expected), MIB)


def _amount(value: object, read: Callable[[str], int], unit: int, expected: str) -> int:
    """Return a whole number of units, or what a text says, as `read` has it."""
    amount = -1
    if isinstance(value, int) and not isinstance(value, bool):
        amount = value * unit
    elif isinstance(value, str):
        try:
            amount = read(value)
        except QuantityError:
            amount = -1
    if amount < 0:
        raise ValueError(expected)
    return amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Loads above which a node takes no new tasks, in percent."""

    cpu: int = argument("cpu", 80, least=0, most=100)
    mem: int = argument("mem", 80, least=0, most=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimator:
    """What a pod is taken to use before its use is measured."""

    request_ratio: Fraction = argument("request_ratio", Fraction(7, 10), least=0, most=1)
    """Part of its request."""
    burst_ratio: Fraction = argument("burst_ratio", Fraction(0), least=0, most=1)
    """Part of what its limit is above its request."""
    risk_threshold: Fraction = argument("risk_threshold", Fraction(6, 10), least=0, most=1)
    """Load of the node from which on the risk factor counts, as a fraction."""
    risk_factor: Fraction = argument("risk_factor", Fraction(12, 10), least=1)
    """What estimates are multiplied with on loaded nodes."""
    be_cpu: int = argument("be_cpu", 250, parse=_cpu_millis)
    """Of a pod that asks for nothing: thousandths of a CPU, or a quantity."""
    be_mem: Fraction = argument("be_mem", Fraction(200), parse=_mebibytes)
    """Of a pod that asks for nothing: mebibytes, or a quantity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageArgs:
    """Arguments of usage."""

    weight: int = argument("usage.weight", 5, least=0)
    """Say of this plugin in the node order; 0 mutes it."""
    cpu_weight: int = argument("cpu.weight", 1, least=0)
    """Importance of CPU."""
    memory_weight: int = argument("memory.weight", 1, least=0)
    """Importance of memory."""
    thresholds: Thresholds = argument("thresholds", Thresholds(), nested=True)
    """Loads above which a node takes no new tasks, in percent."""
    estimator: Estimator = argument("estimator", Estimator(), nested=True)
    """What a pod is taken to use before its use is measured."""
