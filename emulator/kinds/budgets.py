"""Validation of disruption budgets: a number or percentage of pods, and a valid selector."""

import re
from typing import Any

from pyroclast.emulator.operations.strategies import Context, Strategy, forbidden_value, invalid_value, required
from pyroclast.emulator.storage.labels import label_key_faults, label_value_faults

__all__ = ["BudgetStrategy"]

Object = dict[str, Any]
Faults = list[dict[str, str]]

PERCENT = re.compile(r"[0-9]+%\Z")
NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
NEED_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
REFUSE_VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"


class BudgetStrategy(Strategy):
    """Validation of disruption budgets, whose status the server keeps itself."""

    def faults(self, new: Object, old: Object | None, context: Context) -> Faults:
        """Amounts and selector."""
        del old
        if context.call.subresource:
            return []
        spec = new.get("spec") or {}
        faults: Faults = []
        if "minAvailable" in spec and "maxUnavailable" in spec:
            faults.append(invalid_value("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
        for name in ("minAvailable", "maxUnavailable"):
            if name in spec:
                faults += pods_faults(f"spec.{name}", spec[name])
        return faults + selector_faults("spec.selector", spec.get("selector") or {})


def pods_faults(path: str, value: int | str) -> Faults:
    """Return the faults of a number or percentage of pods."""
    if isinstance(value, int):
        return [invalid_value(path, value, "must be greater than or equal to 0")] if value < 0 else []
    if not PERCENT.match(value):
        return [invalid_value(path, value, NO_PERCENT)]
    return [invalid_value(path, value, "must not be greater than 100%")] if int(value[:-1]) > 100 else []


def selector_faults(path: str, selector: Object) -> Faults:
    """Return the faults of a label selector."""
    faults: Faults = []
    for key, value in (selector.get("matchLabels") or {}).items():
        faults += [invalid_value(f"{path}.matchLabels", key, text) for text in label_key_faults(key)]
        faults += [invalid_value(f"{path}.matchLabels", value, text) for text in label_value_faults(value)]
    for position, expression in enumerate(selector.get("matchExpressions") or ()):
        faults += expression_faults(f"{path}.matchExpressions[{position}]", expression)
    return faults


def expression_faults(path: str, expression: Object) -> Faults:
    """Return the faults of one of its expressions."""
    key, operator, values = expression.get("key", ""), expression.get("operator", ""), expression.get("values") or ()
    faults: Faults = []
    if operator in ("In", "NotIn"):
        if not values:
            faults.append(required(f"{path}.values", NEED_VALUES))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            faults.append(forbidden_value(f"{path}.values", REFUSE_VALUES))
    else:
        faults.append(invalid_value(f"{path}.operator", operator, "not a valid selector operator"))
    faults += [invalid_value(f"{path}.key", key, text) for text in label_key_faults(key)]
    for place, value in enumerate(values):
        faults += [invalid_value(f"{path}.values[{place}]", value, text) for text in label_value_faults(value)]
    return faults
