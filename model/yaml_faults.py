"""What PyYAML raises for a text that it cannot read, which is more than its own errors."""

from typing import Final

import yaml

__all__ = ["YAML_FAULTS", "yaml_fault"]

YAML_FAULTS: Final = (yaml.YAMLError, ValueError, OverflowError, LookupError, TypeError, AttributeError, RecursionError)
"""An explicit tag that does not fit its value (`!!int ""`, `!!bool maybe`, `!!timestamp x`) raises whatever the reader
of that tag meets first; a number of thousands of digits a ValueError; deep nesting a RecursionError."""


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
