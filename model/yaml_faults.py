"""YAML faults: exceptions that PyYAML raises for malformed text, which are more than its own errors."""

from typing import Final

import yaml

__all__ = ["YAML_FAULTS", "yaml_fault"]

YAML_FAULTS: Final = (yaml.YAMLError, ValueError, OverflowError, LookupError, TypeError, AttributeError, RecursionError)
"""An explicit tag that does not fit its value (`!!int ""`, `!!bool maybe`, `!!timestamp x`) raises the first error
of the constructor of that tag. A number of thousands of digits raises a ValueError. Deep nesting raises a
RecursionError."""


def yaml_fault(error: BaseException) -> str:
    """Return a fault as part of a sentence, on one line."""
    match error:
        case yaml.YAMLError():
            return " ".join(str(error).split())
        case RecursionError():
            return "nested too deeply"
        case ValueError() | OverflowError():
            return str(error)
        case _:
            return "a tag does not fit its value"
