"""Actions that `pyroclast job` and `pyroclast queue` perform on each named object."""

import argparse
from typing import Any

from pyroclast.kube.api.resources import Resource
from pyroclast.model.api.bus import LifecycleAction
from pyroclast.scheduler.cli.commands.vcctl.api_requests import CommandClient
from pyroclast.scheduler.cli.commands.vcctl.flags import names_of, print_line
from pyroclast.scheduler.cli.commands.vcctl.output_formats import deleted, reference

__all__ = ["command", "delete"]


async def delete(given: argparse.Namespace, client: CommandClient, *, resource: Resource[Any]) -> None:
    """Delete the named objects. Their dependents are deleted in the background."""

    async def remove(name: str) -> None:
        await client.delete(resource, name)
        print_line(deleted(resource, name))

    await client.each(resource, names_of(given), remove)


async def command(
    given: argparse.Namespace, client: CommandClient, *, resource: Resource[Any], action: LifecycleAction
) -> None:
    """Create a Command for each named object; the controllers carry it out."""

    async def ask(name: str) -> None:
        await client.command(resource, name, action)
        print_line(f"{reference(resource, name)} {given.action} requested")

    await client.each(resource, names_of(given), ask)
