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
    """Parse thousandths of a CPU, or a quantity."""
    return _amount(value, lambda text: millis(parse(text)), 1, "thousandths of a CPU or a quantity such as 250m")


def _mebibytes(value: object) -> Fraction:
    """Parse mebibytes, or a quantity."""
    expected = "mebibytes or a quantity such as 200Mi"
    return Fraction(_amount(value, lambda text: units(parse(text)), MIB, expected), MIB)


def _amount(value: object, read: Callable[[str], int], unit: int, expected: str) -> int:
    """Return a whole number in units, or a text parsed by `read`."""
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
    """Loads in percent; a node above one accepts no new tasks."""

    cpu: int = argument("cpu", 80, least=0, most=100)
    mem: int = argument("mem", 80, least=0, most=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimator:
    """Estimated usage of a pod before it is measured."""

    request_ratio: Fraction = argument("request_ratio", Fraction(7, 10), least=0, most=1)
    """Used fraction of the request."""
    burst_ratio: Fraction = argument("burst_ratio", Fraction(0), least=0, most=1)
    """Used fraction of the difference between limit and request."""
    risk_threshold: Fraction = argument("risk_threshold", Fraction(6, 10), least=0, most=1)
    """Load of a node at which the risk factor applies, as a fraction."""
    risk_factor: Fraction = argument("risk_factor", Fraction(12, 10), least=1)
    """Factor of estimates on loaded nodes."""
    be_cpu: int = argument("be_cpu", 250, parse=_cpu_millis)
    """Estimate of a best-effort pod: thousandths of a CPU, or a quantity."""
    be_mem: Fraction = argument("be_mem", Fraction(200), parse=_mebibytes)
    """Estimate of a best-effort pod: mebibytes, or a quantity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageArgs:
    """Arguments of usage."""

    weight: int = argument("usage.weight", 5, least=0)
    """Weight of this plugin's score; 0 disables it."""
    cpu_weight: int = argument("cpu.weight", 1, least=0)
    """Weight of CPU."""
    memory_weight: int = argument("memory.weight", 1, least=0)
    """Weight of memory."""
    thresholds: Thresholds = argument("thresholds", Thresholds(), nested=True)
    """Loads in percent; a node above one accepts no new tasks."""
    estimator: Estimator = argument("estimator", Estimator(), nested=True)
    """Estimated usage of a pod before it is measured."""
