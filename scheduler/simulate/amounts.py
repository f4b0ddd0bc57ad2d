"""Amounts as quantities: what an object or an answer says of thousandths."""

from collections.abc import Mapping
from typing import Final

from model.quantity import format_bytes, format_millis
from model.resources import MEMORY, MILLI, Amounts

__all__ = ["quantities"]

_IN_BYTES: Final = (MEMORY, "ephemeral-storage", "hugepages-")


def quantities(amounts: Amounts) -> Mapping[str, str]:
    """Write amounts as Kubernetes quantities, by name."""
    return {name: _quantity(name, amounts[name]) for name in sorted(amounts)}


def _quantity(name: str, millis: int) -> str:
    if name.startswith(_IN_BYTES) and millis % MILLI == 0:
        return format_bytes(millis // MILLI)
    return format_millis(millis)
