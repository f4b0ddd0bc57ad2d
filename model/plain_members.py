"""Plain members: enums whose members cost no more to name than any other attribute.

Python 3.11 looks a member up through a descriptor written in Python, and hashes it by its name anew each time; 3.12
stores members as they are. Statuses and verbs are named and hashed several times for each task placed, so the enums of
the hot path say `@with_plain_members`.
"""

from enum import Enum
from typing import TypeVar

__all__ = ["with_plain_members"]

Kind = TypeVar("Kind", bound=Enum)


def with_plain_members(kind: type[Kind]) -> type[Kind]:
    """Store the members of an enum as plain attributes of its class."""
    for name, member in kind.__members__.items():
        type.__setattr__(kind, name, member)  # bypasses the check of enums, which rejects assignments to members
    return kind
