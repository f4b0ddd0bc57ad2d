"""`pyroclast migrate check`: report what would behave differently after a migration from Volcano."""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.errors import ApiError
from pyroclast.model.errors import PyroclastError
from pyroclast.scheduler.migration.rules import KINDS, Note, Weight, check_objects
from pyroclast.scheduler.registry import load_registry
from pyroclast.scheduler.simulation.object_reader import read_objects

__all__ = ["main"]

_PAGE = 500
_UNREADABLE = 2


def main(arguments: Sequence[str]) -> int:
    """Check an installation. Return 0 if nothing blocks the migration, 1 if something does, 2 if reading failed."""
    given = _parser().parse_args(arguments)
    try:
        if given.filename:
            objects: Iterable[object] = _flattened(read_objects(given.filename))
        else:
            objects = asyncio.run(_cluster(ClusterOptions(kubeconfig=given.kubeconfig)))
        notes = check_objects(objects, load_registry())
    except PyroclastError as error:
        print(f"pyroclast migrate: {error}", file=sys.stderr)  # noqa: T201 - what a command line is for
        return _UNREADABLE
    print(_as_json(notes) if given.output == "json" else _as_text(notes))  # noqa: T201 - as above
    return int(any(note.weight is Weight.STOPS for note in notes))


async def _cluster(options: ClusterOptions) -> list[Mapping[str, Any]]:
    """List the objects that the rules check. Kinds that the server lacks or refuses to list are left out."""
    found: list[Mapping[str, Any]] = []
    async with Client(await connect(options), component="pyroclast-migrate") as client:
        for kind, path in KINDS.items():
            try:
                found.extend({**each, "kind": kind} for each in await _listed(client, path))
            except ApiError as error:
                if not error.is_not_found:
                    print(f"{kind}: not checked: {error}", file=sys.stderr)  # noqa: T201 - as above
    return found


async def _listed(client: Client, path: str) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    token = ""
    while True:
        params = {"limit": str(_PAGE), **({"continue": token} if token else {})}
        page = await client.request_json("GET", path, params=params)
        found.extend(page.get("items") or ())
        token = (page.get("metadata") or {}).get("continue") or ""
        if not token:
            return found


def _flattened(objects: Iterable[Mapping[str, Any]]) -> Iterable[object]:
    """Yield objects, and the items of lists among them."""
    for each in objects:
        kind = str(each.get("kind", ""))
        if kind.endswith("List"):
            for item in each.get("items") or ():
                yield {"kind": kind.removesuffix("List"), **item} if isinstance(item, Mapping) else item
        else:
            yield each


def _as_text(notes: Sequence[Note]) -> str:
    lines = [
        f"{note.weight}: {note.about}: {f'{note.path}: ' if note.path else ''}{note.message}"
        for weight in Weight
        for note in notes
        if note.weight is weight
    ]
    counts = Counter(note.weight for note in notes)
    total = ", ".join(f"{counts[weight]} {weight}" for weight in Weight if counts[weight])
    return "\n".join([*lines, total or "nothing behaves differently"])


def _as_json(notes: Sequence[Note]) -> str:
    rows = [{"weight": note.weight, "about": note.about, "path": note.path, "message": note.message} for note in notes]
    return json.dumps(rows, indent=2)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pyroclast migrate", description="Migrate from Volcano.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser(
        "check",
        help="report what would behave differently",
        description="Report what of a Volcano installation would behave differently. Nothing is changed. Exit status "
        "0: nothing blocks the migration; 1: something must be fixed first; 2: the installation could not be read.",
    )
    one.add_argument(
        "-f",
        "--filename",
        action="append",
        metavar="FILE",
        help="manifests: a file, a folder, or -; by default, the cluster is read",
    )
    one.add_argument(
        "--kubeconfig", default="", metavar="FILE", help="kubeconfig of the cluster; by default, that of kubectl"
    )
    one.add_argument("-o", "--output", choices=("text", "json"), default="text", help="output format")
    return parser
