"""The command line of `pyroclast quota`. It imports little, because completion loads it at each key press."""

import argparse

from pyroclast.scheduler.cli.commands.vcctl.flags import add_cluster, add_names, add_output, program

__all__ = ["parser"]


def parser() -> argparse.ArgumentParser:
    """Return the parser of `pyroclast quota`."""
    root = argparse.ArgumentParser(prog=f"{program()} quota", description="Elastic quotas of the cluster.")
    actions = root.add_subparsers(dest="action", required=True, metavar="ACTION")
    for word, about in (
        ("list", "list elastic quotas as a tree, with a row for each resource"),
        ("get", "show elastic quotas by name, with their descendants; all quotas without a name"),
    ):
        one = actions.add_parser(word, help=about, description=f"{about.capitalize()}.")
        add_names(one, "quota", is_optional=True)
        add_output(one)
        add_cluster(one)
    return root
