"""Leases: what the real server checks of them."""

from pyroclast.emulator.operations.strategies import Context, Faults, Object, Strategy
from pyroclast.emulator.statuses import cause

__all__ = ["LeaseStrategy"]


class LeaseStrategy(Strategy):
    """The rules of leases."""

    def faults(self, new: Object, old: Object | None, context: Context) -> Faults:
        """A duration is positive, a count of transitions is not negative."""
        del old, context
        spec = new.get("spec") or {}
        found: Faults = []
        for field, least, rule in (
            ("leaseDurationSeconds", 1, "must be greater than 0"),
            ("leaseTransitions", 0, "must be greater than or equal to 0"),
        ):
            value = spec.get(field)
            if isinstance(value, int) and value < least:
                found.append(cause(f"spec.{field}", "FieldValueInvalid", f"Invalid value: {value}: {rule}"))
        return found
