"""Plain members: enums whose members are as cheap to access as other attributes.

Python 3.11 looks up a member through a descriptor written in Python, and hashes its name each time. Python 3.12 stores
members directly. Statuses and verbs are accessed and hashed several times for each placed task, so the enums of the hot
path use `@with_plain_members`.
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
