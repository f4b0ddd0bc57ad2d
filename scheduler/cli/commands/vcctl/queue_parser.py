"""The command line of `pyroclast queue`. It imports little, because completion loads it at each key press."""

import argparse

from pyroclast.model.api.scheduling import DequeueStrategy
from pyroclast.scheduler.cli.commands.vcctl.flags import add_cluster, add_names, add_output, amounts, program

__all__ = ["parser"]


def parser() -> argparse.ArgumentParser:
    """Return the parser of `pyroclast queue`."""
    root = argparse.ArgumentParser(prog=f"{program()} queue", description="Queues of the cluster.")
    actions = root.add_subparsers(dest="action", required=True, metavar="ACTION")

    one = actions.add_parser("list", help="list queues", description="List all queues, with their gangs by phase.")
    add_names(one, "queue", is_optional=True)
    add_output(one)

    one = actions.add_parser(
        "get", help="show queues by name", description="Show queues by name; all queues without a name."
    )
    add_names(one, "queue", is_optional=True)
    add_output(one)

    one = actions.add_parser("create", help="create queues", description="Create queues, all with the same settings.")
    add_names(one, "queue")
    _add_settings(one)
    add_output(one, has_table=False)

    for word in ("open", "close"):
        about = f"ask the controllers to {word} queues"
        one = actions.add_parser(word, help=about, description=f"{about.capitalize()}.")
        add_names(one, "queue")

    one = actions.add_parser("delete", help="delete queues", description="Delete queues.")
    add_names(one, "queue")

    for each in actions.choices.values():
        add_cluster(each)
    return root


def _add_settings(one: argparse.ArgumentParser) -> None:
    one.add_argument("-w", "--weight", type=int, default=1, help="weight among its siblings, 1 to 65535; 1 by default")
    one.add_argument("--parent", default="", metavar="QUEUE", help="parent queue; the root queue by default")
    one.add_argument(
        "--capability", type=amounts, metavar="AMOUNTS", help="upper limit of its resources: cpu=4,memory=8Gi"
    )
    one.add_argument("--deserved", type=amounts, metavar="AMOUNTS", help="deserved resources")
    one.add_argument("--guarantee", type=amounts, metavar="AMOUNTS", help="guaranteed resources")
    one.add_argument("--priority", type=int, help="queues with a higher number are served earlier")
    one.add_argument(
        "--reclaimable", action=argparse.BooleanOptionalAction, help="whether other queues may reclaim what it borrowed"
    )
    one.add_argument(
        "--dequeue-strategy", choices=[*DequeueStrategy], default="", help="behavior of a blocked first job"
    )
    one.add_argument("--type", default="", help="free text for the operator")
