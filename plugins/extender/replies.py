"""Replies by verb. A field that is missing or null is empty, 0 or false; unknown fields are ignored."""

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
    """An object whose fields are ignored."""


class Verdict(Reply, frozen=True, kw_only=True):
    """Verdict about one node; an empty status permits."""

    status: str | None = None
    code: int | None = None


class Predicates(Reply, frozen=True, kw_only=True):
    """Verdicts about many nodes, by name; a node without a verdict is permitted."""

    verdicts: dict[str, Verdict | None] | None = None
    error_message: str | None = None


class Scores(Reply, frozen=True, kw_only=True):
    """Scores by node name."""

    node_score: dict[str, float] | None = None
    error_message: str | None = None


class Victim(Reply, frozen=True, kw_only=True):
    """A victim; only its UID is read."""

    uid: str = msgspec.field(name="UID", default="")


class Victims(Reply, frozen=True, kw_only=True):
    """A vote and the selected victims."""

    status: int | None = None
    victims: list[Victim] | None = None


class OverusedReply(Reply, frozen=True, kw_only=True):
    """Whether a queue is overused."""

    overused: bool | None = None


class Voted(Reply, frozen=True, kw_only=True):
    """A vote."""

    status: int | None = None


class Ready(Reply, frozen=True, kw_only=True):
    """Whether a job is ready."""

    status: bool | None = None


class Placed(Reply, frozen=True, kw_only=True):
    """Whether the extender accepts an event: an empty message accepts."""

    error_message: str | None = None
