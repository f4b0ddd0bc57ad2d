"""`pyroclast quota`: list and show elastic quotas as a tree."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pyroclast.kube.api.resources import ELASTIC_QUOTAS
from pyroclast.model.annotations import read_json
from pyroclast.model.api.quota import ElasticQuota
from pyroclast.model.elastic.names import (
    ALLOW_LENT_RESOURCE,
    GUARANTEED,
    PARENT,
    REQUEST,
    ROOT_QUOTA,
    RUNTIME,
    SHARED_WEIGHT,
    TREE_ID,
)
from pyroclast.scheduler.cli.commands.vcctl.api_requests import CommandClient, run_command
from pyroclast.scheduler.cli.commands.vcctl.flags import names_of, print_error
from pyroclast.scheduler.cli.commands.vcctl.list_parsers import quota_parser
from pyroclast.scheduler.cli.commands.vcctl.object_output import show_objects
from pyroclast.scheduler.cli.commands.vcctl.output_formats import Column, Object, table

__all__ = ["Row", "columns", "main", "rows"]

_INDENT: Final = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The amounts of a quota for one resource."""

    quota: ElasticQuota
    depth: int
    """Number of ancestors."""
    resource: str
    """Empty if the quota names no resource."""


def rows(quotas: Iterable[ElasticQuota], tops: Iterable[str] = ()) -> Iterator[Row]:
    """Yield a row for each resource of each quota, sorted by name. Children follow their parent.

    Args:
        quotas: All quotas. A quota in a cycle, or with a missing parent, is shown at the top level.
        tops: Names of the quotas to start with; if empty, all quotas without a parent.
    """
    known = {quota.metadata.name: quota for quota in sorted(quotas, key=lambda quota: quota.metadata.name)}
    below: dict[str, list[ElasticQuota]] = {}
    for quota in known.values():
        below.setdefault(_parent(quota), []).append(quota)
    shown: set[str] = set()
    named = list(tops)
    first = named or [name for name, quota in known.items() if _parent(quota) not in known]
    for top in (*first, *(() if named else known)):  # at last the quotas in a cycle
        waiting = [(known[top], 0)]
        while waiting:
            quota, depth = waiting.pop()
            name = quota.metadata.name
            if name in shown:
                continue
            shown.add(name)
            for resource in sorted(quota.spec.max or quota.status.used) or ("",):
                yield Row(quota=quota, depth=depth, resource=resource)
            waiting += [(each, depth + 1) for each in reversed(below.get(name, ()))]


def columns() -> tuple[Column[Row], ...]:
    """Return the columns: used, runtime, request, minimum and maximum; guaranteed amount, weight and more when wide."""
    return (
        Column(heading="NAME", cell=lambda row: _INDENT * row.depth + row.quota.metadata.name),
        Column(heading="RESOURCE", cell=lambda row: row.resource),
        Column(heading="USED", cell=lambda row: row.quota.status.used.get(row.resource)),
        Column(heading="RUNTIME", cell=partial(_noted, key=RUNTIME)),
        Column(heading="REQUEST", cell=partial(_noted, key=REQUEST)),
        Column(heading="MIN", cell=lambda row: row.quota.spec.min.get(row.resource)),
        Column(heading="MAX", cell=lambda row: row.quota.spec.max.get(row.resource)),
        Column(heading="GUARANTEED", cell=partial(_noted, key=GUARANTEED), is_wide=True),
        Column(heading="WEIGHT", cell=partial(_noted, key=SHARED_WEIGHT), is_wide=True),
        Column(heading="LENDS", cell=_lends, is_wide=True),
        Column(heading="TREE", cell=lambda row: row.quota.metadata.labels.get(TREE_ID), is_wide=True),
        Column(heading="NAMESPACE", cell=lambda row: row.quota.metadata.namespace, is_wide=True),
    )


def _parent(quota: ElasticQuota) -> str:
    return "" if quota.metadata.name == ROOT_QUOTA else quota.metadata.labels.get(PARENT) or ROOT_QUOTA


def _lends(row: Row) -> str:
    return "false" if row.quota.metadata.labels.get(ALLOW_LENT_RESOURCE) == "false" else "true"


def _noted(row: Row, key: str) -> Any:
    """Return the row's amount in an annotation, or None if the annotation lacks it or cannot be parsed."""
    try:
        amounts: Mapping[str, Any] = read_json(row.quota.metadata.annotations.get(key) or "{}", dict)
    except ValueError:
        return None
    return amounts.get(row.resource)


# --- commands ---------------------------------------------------------------------------------------------------------


async def show(given: argparse.Namespace, client: CommandClient) -> None:
    """List all quotas, or the named ones. Names are unique in the cluster, so the command has no namespace flag."""
    client.namespace = ""
    everything = await client.all_of(ELASTIC_QUOTAS)
    names = names_of(given)
    found = [each for each in everything if each["metadata"]["name"] in names] if names else everything
    there = {each["metadata"]["name"] for each in found}
    for name in names:
        if name not in there:
            print_error(
                f'Error from server (NotFound): {ELASTIC_QUOTAS.plural}.{ELASTIC_QUOTAS.group} "{name}" not found'
            )
            client.status = 1

    def as_table() -> str:
        quotas = client.decoded(ELASTIC_QUOTAS, _oldest_last(everything))
        shown = list(rows(quotas, [name for name in names if name in there]))
        return table(columns(), shown, is_wide=given.output == "wide", has_headings=not given.no_headers)

    show_objects(given, client, ELASTIC_QUOTAS, found, as_table)


def _oldest_last(objects: Sequence[Object]) -> list[Object]:
    """Sort so that of two quotas with one name the older one wins, as in the scheduler."""

    def age(each: Object) -> tuple[str, str]:
        return str(each["metadata"].get("creationTimestamp", "")), str(each["metadata"].get("namespace", ""))

    return sorted(objects, key=age, reverse=True)


def main(arguments: Sequence[str]) -> int:
    """Run one command on quotas."""
    given = quota_parser().parse_args(arguments)
    return run_command(given, ELASTIC_QUOTAS, partial(show, given))
