"""`pyroclast reservation`: list and show Reservations."""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from pyroclast.kube.api.resources import RESERVATIONS
from pyroclast.model.api.reservation import Reservation
from pyroclast.model.reservations.reading import life_of
from pyroclast.model.wire import time_text
from pyroclast.scheduler.cli.commands.vcctl.ages import age
from pyroclast.scheduler.cli.commands.vcctl.api_requests import CommandClient, run_command
from pyroclast.scheduler.cli.commands.vcctl.list_parsers import reservation_parser
from pyroclast.scheduler.cli.commands.vcctl.object_output import fetch, show_objects
from pyroclast.scheduler.cli.commands.vcctl.output_formats import Column, table

__all__ = ["columns", "main"]


def columns(now: datetime) -> tuple[Column[Reservation], ...]:
    """Return the columns: phase, node, what is in use of what is reserved, owners and end; policy and reason when wide.

    Args:
        now: Time that ages count from.
    """
    return (
        Column(heading="NAME", cell=lambda each: each.metadata.name),
        Column(heading="PHASE", cell=lambda each: each.status.phase or "Pending"),
        Column(heading="NODE", cell=lambda each: each.status.node_name),
        Column(heading="USED/RESERVED", cell=_amounts),
        Column(heading="OWNERS", cell=lambda each: len(each.status.current_owners)),
        Column(heading="ENDS", cell=_end),
        Column(heading="AGE", cell=lambda each: age(each.metadata.creation_timestamp, now)),
        Column(heading="ONCE", cell=lambda each: "true" if each.spec.allocate_once else "false", is_wide=True),
        Column(heading="POLICY", cell=lambda each: each.spec.allocate_policy, is_wide=True),
        Column(heading="REASON", cell=_reason, is_wide=True),
    )


def _amounts(reservation: Reservation) -> str:
    """Return used and reserved amounts, as `cpu 1/4, memory 0/8Gi`."""
    status = reservation.status
    return ", ".join(
        f"{name} {status.allocated.get(name, 0)}/{amount}" for name, amount in sorted(status.allocatable.items())
    )


def _end(reservation: Reservation) -> str:
    ends = life_of(reservation).ends
    return "never" if ends is None else time_text(ends)


def _reason(reservation: Reservation) -> str:
    """Return why it has no node, or why it ended."""
    found = [each for each in reservation.status.conditions if each.status == "False"]
    return found[0].message or found[0].reason if found else ""


async def show(given: argparse.Namespace, client: CommandClient) -> None:
    """List all Reservations, or the named ones."""
    found = await fetch(given, client, RESERVATIONS)

    def as_table() -> str:
        shown = client.decoded(RESERVATIONS, found)
        return table(
            columns(datetime.now(UTC)), shown, is_wide=given.output == "wide", has_headings=not given.no_headers
        )

    show_objects(given, client, RESERVATIONS, found, as_table)


def main(arguments: Sequence[str]) -> int:
    """Run one command on Reservations."""
    given = reservation_parser().parse_args(arguments)
    return run_command(given, RESERVATIONS, partial(show, given))
