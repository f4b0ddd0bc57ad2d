"""The command line of `pyroclast quota`: light, for completion asks it at each press of a key."""

import argparse

from pyroclast.scheduler.cli.commands.vcctl.flags import add_cluster, add_names, add_output, program

__all__ = ["parser"]


def parser() -> argparse.ArgumentParser:
    """Return the parser of `pyroclast quota`."""
    root = argparse.ArgumentParser(prog=f"{program()} quota", description="Elastic quotas of the cluster.")
    actions = root.add_subparsers(dest="action", required=True, metavar="ACTION")
    for word, about in (
        ("list", "list elastic quotas, each with what it has of each resource, those below others indented"),
        ("get", "show elastic quotas by name, with those below them; all without one"),
    ):
        one = actions.add_parser(word, help=about, description=f"{about.capitalize()}.")
        add_names(one, "quota", is_optional=True)
        add_output(one)
        add_cluster(one)
    return root
