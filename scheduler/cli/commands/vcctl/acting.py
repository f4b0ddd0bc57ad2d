"""Acting: what `pyroclast job` and `pyroclast queue` do to each thing that is named."""

import argparse
from typing import Any

from pyroclast.kube.resources import Resource
from pyroclast.model.api.bus import LifecycleAction
from pyroclast.scheduler.cli.commands.vcctl.flags import names_of, say
from pyroclast.scheduler.cli.commands.vcctl.printing import deleted, reference
from pyroclast.scheduler.cli.commands.vcctl.speaking import Speaker

__all__ = ["command", "delete"]


async def delete(given: argparse.Namespace, speaker: Speaker, *, resource: Resource[Any]) -> None:
    """Delete, and with each thing what belongs to it."""

    async def remove(name: str) -> None:
        await speaker.delete(resource, name)
        say(deleted(resource, name))

    await speaker.each(resource, names_of(given), remove)


async def command(
    given: argparse.Namespace, speaker: Speaker, *, resource: Resource[Any], action: LifecycleAction
) -> None:
    """Ask the controllers for an action."""

    async def ask(name: str) -> None:
        await speaker.command(resource, name, action)
        say(f"{reference(resource, name)} {given.action} requested")

    await speaker.each(resource, names_of(given), ask)
