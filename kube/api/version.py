"""The version of this program."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["own_version"]


def own_version() -> str:
    """Return the version of the installed distribution."""
    try:
        return version("pyroclast-scheduler")
    except PackageNotFoundError:
        return "unreleased"  # run from a checkout that was never installed
