"""The command line of `pyroclast reservation`. It imports little, because completion loads it at each key press."""

import argparse

from pyroclast.scheduler.cli.commands.vcctl.flags import add_cluster, add_names, add_output, program

__all__ = ["parser"]


def parser() -> argparse.ArgumentParser:
    """Return the parser of `pyroclast reservation`."""
    root = argparse.ArgumentParser(prog=f"{program()} reservation", description="Reservations of the cluster.")
    actions = root.add_subparsers(dest="action", required=True, metavar="ACTION")
    for word, about in (
        ("list", "list reservations with their phase, node, end and use"),
        ("get", "show reservations by name; all reservations without a name"),
    ):
        one = actions.add_parser(word, help=about, description=f"{about.capitalize()}.")
        add_names(one, "reservation", is_optional=True)
        add_output(one)
        add_cluster(one)
    return root
