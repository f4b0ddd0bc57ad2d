"""Settings: the name of the plugin, and whether a profile asks for it."""

from typing import Final

from pyroclast.framework.configuration import Profile

__all__ = ["NAME", "is_asked_for"]

NAME: Final = "reservation"


def is_asked_for(profile: Profile) -> bool:
    """Return whether a profile has the plugin, so that Reservations must be watched."""
    return any(option.plugin == NAME for option in profile.plugins)
