"""What may come back, by verb. A field that is missing or null is empty, 0 or false, and unknown ones are ignored."""

import msgspec

__all__ = [
    "Nothing",
    "OverusedReply",
    "Placed",
    "Predicates",
    "Ready",
    "Scores",
    "Verdict",
    "Victim",
    "Victims",
    "Voted",
]


class Reply(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A JSON object."""


class Nothing(Reply, frozen=True, kw_only=True):
    """An object in which nothing is looked at."""


class Verdict(Reply, frozen=True, kw_only=True):
    """What is said of one node: an empty status permits."""

    status: str | None = None
    code: int | None = None


class Predicates(Reply, frozen=True, kw_only=True):
    """What is said of many nodes, by name; a node that is not named is permitted."""

    verdicts: dict[str, Verdict | None] | None = None
    error_message: str | None = None


class Scores(Reply, frozen=True, kw_only=True):
    """Scores by name of the node."""

    node_score: dict[str, float] | None = None
    error_message: str | None = None


class Victim(Reply, frozen=True, kw_only=True):
    """A task that may go; of all its fields the UID alone tells which."""

    uid: str = msgspec.field(name="UID", default="")


class Victims(Reply, frozen=True, kw_only=True):
    """A vote, and who may go."""

    status: int | None = None
    victims: list[Victim] | None = None


class OverusedReply(Reply, frozen=True, kw_only=True):
    """Whether a queue has had enough."""

    overused: bool | None = None


class Voted(Reply, frozen=True, kw_only=True):
    """A vote."""

    status: int | None = None


class Ready(Reply, frozen=True, kw_only=True):
    """Whether a job is ready."""

    status: bool | None = None


class Placed(Reply, frozen=True, kw_only=True):
    """Whether an event is agreed to: an empty message agrees."""

    error_message: str | None = None
