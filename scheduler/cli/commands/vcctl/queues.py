"""`pyroclast queue`: list, show, create, open, close and delete queues."""

import argparse
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from pyroclast.kube.api.resources import POD_GROUPS, QUEUES
from pyroclast.model.api.bus import LifecycleAction
from pyroclast.model.api.names import DEFAULT_QUEUE
from pyroclast.model.api.scheduling import PodGroup, PodGroupPhase, Queue, QueueState
from pyroclast.scheduler.cli.commands.vcctl.ages import age
from pyroclast.scheduler.cli.commands.vcctl.api_requests import CommandClient, run_command
from pyroclast.scheduler.cli.commands.vcctl.flags import names_of
from pyroclast.scheduler.cli.commands.vcctl.object_actions import command, delete
from pyroclast.scheduler.cli.commands.vcctl.object_output import fetch, show_made, show_objects
from pyroclast.scheduler.cli.commands.vcctl.output_formats import Column, Object, table
from pyroclast.scheduler.cli.commands.vcctl.queue_parser import parser

__all__ = ["Row", "columns", "main", "rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A queue and its gangs."""

    queue: Queue
    gangs: Mapping[str, int]
    """Number of gangs by phase."""


def rows(queues: Sequence[Queue], groups: Sequence[PodGroup]) -> list[Row]:
    """Count the gangs of each queue from PodGroups, because the status of a queue may lag behind."""
    by_queue: dict[str, Counter[str]] = {queue.metadata.name: Counter() for queue in queues}
    for group in groups:
        counts = by_queue.get(group.spec.queue or DEFAULT_QUEUE)
        if counts is not None:
            counts[group.status.phase or PodGroupPhase.PENDING.value] += 1
    return [Row(queue=queue, gangs=by_queue[queue.metadata.name]) for queue in queues]


def columns(now: datetime) -> tuple[Column[Row], ...]:
    """Return the columns of queues. Ages are relative to `now`."""
    return (
        Column(heading="NAME", cell=lambda row: row.queue.metadata.name),
        Column(heading="WEIGHT", cell=lambda row: row.queue.spec.weight),
        # A queue without a status accepts gangs: no controller has set its state yet.
        Column(heading="STATE", cell=lambda row: row.queue.status.state or QueueState.OPEN.value),
        Column(heading="PARENT", cell=lambda row: row.queue.spec.parent),
        *(
            Column(heading=phase.upper(), cell=partial(_gangs, phase=phase.value))
            for phase in (
                PodGroupPhase.INQUEUE,
                PodGroupPhase.PENDING,
                PodGroupPhase.RUNNING,
                PodGroupPhase.UNKNOWN,
                PodGroupPhase.COMPLETED,
            )
        ),
        Column(heading="AGE", cell=lambda row: age(row.queue.metadata.creation_timestamp, now), is_wide=True),
        Column(heading="PRIORITY", cell=lambda row: row.queue.spec.priority, is_wide=True),
        Column(heading="RECLAIMABLE", cell=lambda row: _flag(row.queue.spec.reclaimable), is_wide=True),
        Column(heading="CAPABILITY", cell=lambda row: _amounts(row.queue.spec.capability), is_wide=True),
        Column(heading="DESERVED", cell=lambda row: _amounts(row.queue.spec.deserved), is_wide=True),
        Column(heading="GUARANTEE", cell=lambda row: _amounts(row.queue.spec.guarantee.resource), is_wide=True),
        Column(heading="ALLOCATED", cell=lambda row: _amounts(row.queue.status.allocated), is_wide=True),
    )


def _gangs(row: Row, phase: str) -> int:
    return row.gangs.get(phase, 0)


def _flag(value: bool | None) -> str:
    return "" if value is None else str(value).lower()


def _amounts(amounts: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))


# --- commands ---------------------------------------------------------------------------------------------------------


async def show(given: argparse.Namespace, client: CommandClient) -> None:
    """List all queues, or the named queues."""
    found = await fetch(given, client, QUEUES)
    groups = [] if given.output in {"json", "yaml", "name"} else await client.all_of(POD_GROUPS, namespace="")

    def as_table() -> str:
        shown = rows(client.decoded(QUEUES, found), client.decoded(POD_GROUPS, groups))
        is_wide = given.output == "wide"
        return table(columns(datetime.now(UTC)), shown, is_wide=is_wide, has_headings=not given.no_headers)

    show_objects(given, client, QUEUES, found, as_table)


async def create(given: argparse.Namespace, client: CommandClient) -> None:
    """Create queues."""
    spec: Object = {"weight": given.weight}
    settings = {
        "parent": given.parent,
        "capability": given.capability,
        "deserved": given.deserved,
        "guarantee": {"resource": given.guarantee} if given.guarantee else None,
        "priority": given.priority,
        "reclaimable": given.reclaimable,
        "dequeueStrategy": given.dequeue_strategy,
        "type": given.type,
    }
    spec |= {name: value for name, value in settings.items() if value not in (None, "", {})}

    async def make(name: str) -> None:
        head = {"apiVersion": QUEUES.api_version, "kind": QUEUES.kind}
        made = await client.create(QUEUES, {**head, "metadata": {"name": name}, "spec": spec})
        show_made(given, QUEUES, made)

    await client.each(QUEUES, names_of(given), make)


_ACTS: Final[Mapping[str, Callable[[argparse.Namespace, CommandClient], Awaitable[None]]]] = {
    "list": show,
    "get": show,
    "create": create,
    "open": partial(command, resource=QUEUES, action=LifecycleAction.OPEN_QUEUE),
    "close": partial(command, resource=QUEUES, action=LifecycleAction.CLOSE_QUEUE),
    "delete": partial(delete, resource=QUEUES),
}


def main(arguments: Sequence[str]) -> int:
    """Run one command on queues."""
    given = parser().parse_args(arguments)
    names_of(given)
    return run_command(given, QUEUES, partial(_ACTS[given.action], given))
