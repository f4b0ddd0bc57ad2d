"""Objects printed in the requested output format."""

import argparse
from collections.abc import Callable
from typing import Any

from pyroclast.kube.api.resources import Resource
from pyroclast.scheduler.cli.commands.vcctl.api_requests import CommandClient
from pyroclast.scheduler.cli.commands.vcctl.flags import names_of, print_error, print_line
from pyroclast.scheduler.cli.commands.vcctl.output_formats import (
    Object,
    as_json,
    as_yaml,
    listed,
    reference,
    without_managed_fields,
)

__all__ = ["fetch", "show_made", "show_objects"]


async def fetch(given: argparse.Namespace, client: CommandClient, resource: Resource[Any]) -> list[Object]:
    """Read the named objects, or all objects of the kind if no name is given."""
    names = names_of(given)
    if not names:
        return await client.all_of(resource, selector=getattr(given, "selector", ""))
    found: list[Object] = []

    async def read(name: str) -> None:
        found.append(await client.get(resource, name))

    await client.each(resource, names, read)
    return found


def show_objects(
    given: argparse.Namespace,
    client: CommandClient,
    resource: Resource[Any],
    found: list[Object],
    as_table: Callable[[], str],
) -> None:
    """Print objects as JSON, YAML, names or a table."""
    if given.output in {"json", "yaml"}:
        is_one = len(names_of(given)) == 1
        if found or not is_one:
            cleaned = [without_managed_fields(each) for each in found]
            print_line(_spelled(given.output, cleaned[0] if is_one else listed(cleaned)))
    elif given.output == "name":
        for each in found:
            print_line(reference(resource, each["metadata"]["name"]))
    elif found:
        print_line(as_table())
    elif not client.status:
        place = f" in {client.namespace} namespace." if client.place(resource) else ""
        print_error(f"No resources found{place}")


def show_made(given: argparse.Namespace, resource: Resource[Any], made: Object) -> None:
    """Print an object that was created, or a message about it."""
    if given.output in {"json", "yaml"}:
        print_line(_spelled(given.output, without_managed_fields(made)))
    else:
        name = reference(resource, made["metadata"]["name"])
        print_line(name if given.output == "name" else f"{name} created")


def _spelled(form: str, value: Object) -> str:
    return as_json(value) if form == "json" else as_yaml(value)
