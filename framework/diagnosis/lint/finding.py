"""One remark about a configuration."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Severity"]


class Severity(StrEnum):
    """Severity of a finding."""

    FAULT = "fault"
    """The scheduler would refuse it."""
    WARNING = "warning"
    """Something has no effect, or an effect that is rarely meant."""
    NOTE = "note"
    """Sound, with a consequence worth knowing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding and its path."""

    severity: Severity
    path: str
    """`tiers[1].plugins[0].enableJobOrder`; empty for the file as a whole."""
    message: str

    @classmethod
    def of_sentence(cls, severity: Severity, sentence: str) -> "Finding":
        """Return a fault or a warning of the parser, a sentence that starts with its path, as a finding."""
        path, separator, message = sentence.partition(": ")
        return cls(severity, path, message) if separator else cls(severity, "", sentence)
