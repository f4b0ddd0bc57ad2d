"""Deciding: the next state of a queue, as a pure function of the queue, its parent, its gangs and its newest command.

           ┌────────────── CloseQueue, gangs left; or its parent is closed ─────────────┐
           │                                                                            ▼
    Open (or empty) ◀────── OpenQueue; or its parent, which closed it, is open ────── Closing
           │    ▲                                                                       │ no gangs left
           │    └───────────── OpenQueue; or its parent, which closed it, is open ──┐   ▼
           └──── CloseQueue, no gangs; or its parent is closed ───────────────────▶ Closed

Invariant: the annotation `closed-by-parent` is `true` only on queues that are closed because their parent is closed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyroclast.model.api import names
from pyroclast.model.api.bus import LifecycleAction
from pyroclast.model.api.scheduling import PodGroupPhase, Queue, QueueState

__all__ = ["COUNTED", "PATIENCE_SECONDS", "Decision", "Notice", "Situation", "decide"]

PATIENCE_SECONDS: Final = 160.0
"""Longest wait of a command to open for the queue's parent. A command may open the parent at the same time."""

COUNTED: Final[Mapping[str, PodGroupPhase]] = {
    "pending": PodGroupPhase.PENDING,
    "inqueue": PodGroupPhase.INQUEUE,
    "running": PodGroupPhase.RUNNING,
    "unknown": PodGroupPhase.UNKNOWN,
    "completed": PodGroupPhase.COMPLETED,
}
"""Fields of the status, and the phase of the gangs that each counts."""

OPEN, CLOSING, CLOSED = QueueState.OPEN.value, QueueState.CLOSING.value, QueueState.CLOSED.value
_SHUT: Final = frozenset({CLOSING, CLOSED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The input of a decision about a queue."""

    queue: Queue
    parent: Queue | None
    """None if the parent is missing, or the queue is the root."""
    gangs: int
    """Number of gangs in all phases, including ended gangs."""
    action: str = ""
    """Action of the newest command, empty without a command."""
    command_age_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """An event to record on the queue."""

    type: str
    reason: str
    message: str


@dataclass(slots=True, kw_only=True)
class Decision:
    """Values to write, and their order."""

    state: str
    closed_by_parent: str
    """The annotation: `true`, `false`, or empty if the queue never had it."""
    takes_command: bool = False
    """Whether to delete the commands for the queue, because they had their effect or never will."""
    notices: list[Notice] = field(default_factory=list)

    @property
    def annotates_first(self) -> bool:
        """Whether the annotation is written before the state.

        If the process is killed between the two writes, neither the reason of a closing nor an opening may be lost.
        """
        return self.closed_by_parent == "true"

    def close(self, gangs: int) -> None:
        """Close the queue. It is Closing while it has gangs."""
        if self.state not in _SHUT:
            self.notices.append(
                Notice(type="Normal", reason=LifecycleAction.CLOSE_QUEUE, message="Close queue succeed")
            )
        self.state = CLOSED if self.state == CLOSED or not gangs else CLOSING

    def refuse(self, reason: str, message: str) -> None:
        """Record why a command has no effect."""
        self.takes_command = True
        self.notices.append(Notice(type="Warning", reason=reason, message=message))


def decide(situation: Situation) -> Decision:
    """Decide about a queue."""
    queue = situation.queue
    decision = Decision(
        state=queue.status.state or OPEN,
        closed_by_parent=queue.metadata.annotations.get(names.CLOSED_BY_PARENT, ""),
    )
    if situation.action:
        _apply_command(situation, decision)
    if decision.state == CLOSING and not situation.gangs:
        decision.state = CLOSED
    _follow_parent(situation, decision)
    if decision.state == OPEN and decision.closed_by_parent == "true":
        decision.closed_by_parent = "false"
    return decision


def _apply_command(situation: Situation, decision: Decision) -> None:
    """Execute the newest command."""
    if situation.action == LifecycleAction.CLOSE_QUEUE:
        _close(situation, decision)
    elif situation.action == LifecycleAction.OPEN_QUEUE:
        _open(situation, decision)
    else:
        expected = f"{LifecycleAction.OPEN_QUEUE} or {LifecycleAction.CLOSE_QUEUE}"
        decision.refuse("InvalidCommand", f"action: got {situation.action!r}, expected {expected}")


def _close(situation: Situation, decision: Decision) -> None:
    if situation.queue.metadata.name == names.ROOT_QUEUE:
        decision.refuse(LifecycleAction.CLOSE_QUEUE, "Close queue failed: the root queue cannot be closed")
        return
    decision.takes_command = True
    decision.close(situation.gangs)
    if not _is_parent_shut(situation) and decision.closed_by_parent:
        decision.closed_by_parent = "false"  # a command closed the queue, so its parent must not open it again


def _open(situation: Situation, decision: Decision) -> None:
    parent = situation.parent
    if parent is not None and _is_parent_shut(situation):
        if situation.command_age_seconds >= PATIENCE_SECONDS:
            message = f"parent queue {parent.metadata.name} is {parent.status.state}; open it first"
            decision.refuse(LifecycleAction.OPEN_QUEUE, f"Open queue failed: {message}")
        return
    decision.takes_command = True
    decision.state, decision.closed_by_parent = OPEN, "false"


def _follow_parent(situation: Situation, decision: Decision) -> None:
    """Close the queue with its parent, and open it again with its parent."""
    if situation.parent is None:
        return
    if _is_parent_shut(situation):
        if decision.state not in _SHUT:
            decision.close(situation.gangs)
            decision.closed_by_parent = "true"
    elif (
        situation.parent.status.state in {"", OPEN} and decision.state in _SHUT and decision.closed_by_parent == "true"
    ):
        decision.state, decision.closed_by_parent = OPEN, "false"


def _is_parent_shut(situation: Situation) -> bool:
    """Return whether a queue cannot be open because of its parent; the root cannot be closed."""
    parent = situation.parent
    return parent is not None and parent.metadata.name != names.ROOT_QUEUE and parent.status.state in _SHUT
