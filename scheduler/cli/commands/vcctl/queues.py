"""`pyroclast queue`: list, show, make, open, close and delete queues."""

import argparse
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from pyroclast.kube.resources import POD_GROUPS, QUEUES
from pyroclast.model.api.bus import LifecycleAction
from pyroclast.model.api.names import DEFAULT_QUEUE
from pyroclast.model.api.scheduling import PodGroup, PodGroupPhase, Queue, QueueState
from pyroclast.scheduler.cli.commands.vcctl.acting import command, delete
from pyroclast.scheduler.cli.commands.vcctl.ages import age
from pyroclast.scheduler.cli.commands.vcctl.flags import names_of
from pyroclast.scheduler.cli.commands.vcctl.printing import Column, Object, table
from pyroclast.scheduler.cli.commands.vcctl.queue_parser import parser
from pyroclast.scheduler.cli.commands.vcctl.showing import fetch, show_made, show_objects
from pyroclast.scheduler.cli.commands.vcctl.speaking import Speaker, speak

__all__ = ["Row", "columns", "main", "rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A queue and its gangs."""

    queue: Queue
    gangs: Mapping[str, int]
    """Number of gangs by phase."""


def rows(queues: Sequence[Queue], groups: Sequence[PodGroup]) -> list[Row]:
    """Count the gangs of each queue: what controllers write into its status may lag behind."""
    by_queue: dict[str, Counter[str]] = {queue.metadata.name: Counter() for queue in queues}
    for group in groups:
        counts = by_queue.get(group.spec.queue or DEFAULT_QUEUE)
        if counts is not None:
            counts[group.status.phase or PodGroupPhase.PENDING.value] += 1
    return [Row(queue=queue, gangs=by_queue[queue.metadata.name]) for queue in queues]


def columns(now: datetime) -> tuple[Column[Row], ...]:
    """Return the columns of queues; ages are up to `now`."""
    return (
        Column(heading="NAME", cell=lambda row: row.queue.metadata.name),
        Column(heading="WEIGHT", cell=lambda row: row.queue.spec.weight),
        # A queue to which no controller came yet takes gangs.
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


# --- what is done ----------------------------------------------------------------------------------------------------


async def show(given: argparse.Namespace, speaker: Speaker) -> None:
    """List all queues, or those named."""
    found = await fetch(given, speaker, QUEUES)
    groups = [] if given.output in {"json", "yaml", "name"} else await speaker.all_of(POD_GROUPS, namespace="")

    def as_table() -> str:
        shown = rows(speaker.decoded(QUEUES, found), speaker.decoded(POD_GROUPS, groups))
        is_wide = given.output == "wide"
        return table(columns(datetime.now(UTC)), shown, is_wide=is_wide, has_headings=not given.no_headers)

    show_objects(given, speaker, QUEUES, found, as_table)


async def create(given: argparse.Namespace, speaker: Speaker) -> None:
    """Make queues."""
    spec: Object = {"weight": given.weight}
    said = {
        "parent": given.parent,
        "capability": given.capability,
        "deserved": given.deserved,
        "guarantee": {"resource": given.guarantee} if given.guarantee else None,
        "priority": given.priority,
        "reclaimable": given.reclaimable,
        "dequeueStrategy": given.dequeue_strategy,
        "type": given.type,
    }
    spec |= {name: value for name, value in said.items() if value not in (None, "", {})}

    async def make(name: str) -> None:
        head = {"apiVersion": QUEUES.api_version, "kind": QUEUES.kind}
        made = await speaker.create(QUEUES, {**head, "metadata": {"name": name}, "spec": spec})
        show_made(given, QUEUES, made)

    await speaker.each(QUEUES, names_of(given), make)


_ACTS: Final[Mapping[str, Callable[[argparse.Namespace, Speaker], Awaitable[None]]]] = {
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
    return speak(given, QUEUES, partial(_ACTS[given.action], given))
