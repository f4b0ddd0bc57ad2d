"""Reservation: pods use the capacity that Reservations of Koordinator keep for them."""

from pyroclast.plugins.reservation.arguments import ReservationArgs
from pyroclast.plugins.reservation.plugin import Reservations
from pyroclast.plugins.reservation.settings import NAME, is_asked_for

__all__ = ["NAME", "ReservationArgs", "Reservations", "is_asked_for"]
