"""Arguments of the plugin reservation."""

from dataclasses import dataclass

from pyroclast.framework.configuration.arguments import argument

__all__ = ["ReservationArgs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationArgs:
    """Arguments, spelled as in the configuration file."""

    weight: int = argument("reservation.weight", 5000)
    """Weight of the score of nodes with a Reservation for the pod; 0 disables it."""
    enable_preemption: bool = argument("enablePreemption", False)
    """Has no effect: no pod is evicted for a Reservation that waits."""
