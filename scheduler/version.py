"""Which version this is."""

import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = ["own_version", "version_line"]


def own_version() -> str:
    """Return the version of the installed distribution."""
    try:
        return version("pyroclast")
    except PackageNotFoundError:
        return "unreleased"  # run from a checkout that was never installed


def version_line() -> str:
    """Return the line that `pyroclast version` prints."""
    return f"pyroclast {own_version()} (Python {platform.python_version()}, {platform.machine()})"
