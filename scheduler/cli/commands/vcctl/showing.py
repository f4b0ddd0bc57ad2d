"""Showing objects in the form that was asked for."""

import argparse
from collections.abc import Callable
from typing import Any

from pyroclast.kube.resources import Resource
from pyroclast.scheduler.cli.commands.vcctl.flags import names_of, say, told
from pyroclast.scheduler.cli.commands.vcctl.printing import (
    Object,
    as_json,
    as_yaml,
    listed,
    reference,
    without_managed_fields,
)
from pyroclast.scheduler.cli.commands.vcctl.speaking import Speaker

__all__ = ["fetch", "show_made", "show_objects"]


async def fetch(given: argparse.Namespace, speaker: Speaker, resource: Resource[Any]) -> list[Object]:
    """Read the objects named; all of the kind without a name."""
    names = names_of(given)
    if not names:
        return await speaker.all_of(resource, selector=getattr(given, "selector", ""))
    found: list[Object] = []

    async def read(name: str) -> None:
        found.append(await speaker.get(resource, name))

    await speaker.each(resource, names, read)
    return found


def show_objects(
    given: argparse.Namespace,
    speaker: Speaker,
    resource: Resource[Any],
    found: list[Object],
    as_table: Callable[[], str],
) -> None:
    """Print objects as JSON, YAML, names or a table."""
    if given.output in {"json", "yaml"}:
        is_one = len(names_of(given)) == 1
        if found or not is_one:
            cleaned = [without_managed_fields(each) for each in found]
            say(_spelled(given.output, cleaned[0] if is_one else listed(cleaned)))
    elif given.output == "name":
        for each in found:
            say(reference(resource, each["metadata"]["name"]))
    elif found:
        say(as_table())
    elif not speaker.status:
        place = f" in {speaker.namespace} namespace." if speaker.place(resource) else ""
        told(f"No resources found{place}")


def show_made(given: argparse.Namespace, resource: Resource[Any], made: Object) -> None:
    """Print an object that was made, or that it was."""
    if given.output in {"json", "yaml"}:
        say(_spelled(given.output, without_managed_fields(made)))
    else:
        name = reference(resource, made["metadata"]["name"])
        say(name if given.output == "name" else f"{name} created")


def _spelled(form: str, value: Object) -> str:
    return as_json(value) if form == "json" else as_yaml(value)
