"""The version of the program."""

import platform

from pyroclast.kube.api.version import own_version

__all__ = ["version_line"]


def version_line() -> str:
    """Return the line that `pyroclast version` prints."""
    return f"pyroclast {own_version()} (Python {platform.python_version()}, {platform.machine()})"
