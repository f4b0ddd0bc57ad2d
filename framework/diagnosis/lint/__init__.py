"""Lint: settings of a valid configuration that have no effect, or another one than expected.

Belongs here: rules over the whole of a configuration. Does not: what makes it unusable, and unknown or mistyped keys
(`framework.configuration`).
"""

from pyroclast.framework.diagnosis.lint.check import check, lint
from pyroclast.framework.diagnosis.lint.finding import Finding, Severity
from pyroclast.framework.diagnosis.lint.queues import lint_queue

__all__ = ["Finding", "Severity", "check", "lint", "lint_queue"]
