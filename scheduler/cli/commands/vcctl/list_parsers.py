"""The command lines of `pyroclast quota` and `pyroclast reservation`, which list objects.

It imports little, because completion loads it at each key press.
"""

import argparse

from pyroclast.scheduler.cli.commands.vcctl.flags import add_cluster, add_names, add_output, program

__all__ = ["quota_parser", "reservation_parser"]


def quota_parser() -> argparse.ArgumentParser:
    """Return the parser of `pyroclast quota`."""
    return _parser(
        "quota",
        "Elastic quotas of the cluster.",
        lists="list elastic quotas as a tree, with a row for each resource",
        gets="show elastic quotas by name, with their descendants; all quotas without a name",
    )


def reservation_parser() -> argparse.ArgumentParser:
    """Return the parser of `pyroclast reservation`."""
    return _parser(
        "reservation",
        "Reservations of the cluster.",
        lists="list reservations with their phase, node, end and use",
        gets="show reservations by name; all reservations without a name",
    )


def _parser(kind: str, about: str, *, lists: str, gets: str) -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog=f"{program()} {kind}", description=about)
    actions = root.add_subparsers(dest="action", required=True, metavar="ACTION")
    for word, text in (("list", lists), ("get", gets)):
        one = actions.add_parser(word, help=text, description=f"{text.capitalize()}.")
        add_names(one, kind, is_optional=True)
        add_output(one)
        add_cluster(one)
    return root
