"""Flags that several commands share, with the names that kubectl and vcctl use, and functions that print."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyroclast.model.quantity import QuantityError, parse

__all__ = [
    "add_cluster",
    "add_names",
    "add_namespace",
    "add_output",
    "amounts",
    "names_of",
    "print_error",
    "print_line",
    "program",
]

OUTPUTS: Final = ("json", "yaml", "name", "wide")


def program() -> str:
    """Return the name the program was started as: a kubectl plugin, or `pyroclast`."""
    return "kubectl pyroclast" if Path(sys.argv[0]).name.startswith("kubectl") else "pyroclast"


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add the flags that select a cluster."""
    group = parser.add_argument_group("cluster")
    group.add_argument("-k", "--kubeconfig", default="", metavar="FILE", help="kubeconfig; by default, that of kubectl")
    group.add_argument("--context", default="", metavar="NAME", help="context of the kubeconfig")
    group.add_argument("-s", "--server", "--master", default="", metavar="URL", help="address of the API server")


def add_namespace(parser: argparse.ArgumentParser, *, has_all: bool = False) -> None:
    """Add the flags that select a namespace."""
    parser.add_argument(
        "-n", "--namespace", default="", metavar="NAME", help="namespace; by default, that of the context"
    )
    if has_all:
        parser.add_argument("-A", "--all-namespaces", action="store_true", help="list objects of all namespaces")


def add_output(parser: argparse.ArgumentParser, *, has_table: bool = True) -> None:
    """Add the flags that select the output format."""
    choices = OUTPUTS if has_table else OUTPUTS[:-1]
    parser.add_argument("-o", "--output", choices=choices, default="", help=f"one of {', '.join(choices)}")
    if has_table:
        parser.add_argument("--no-headers", action="store_true", help="do not print headings")


def add_names(parser: argparse.ArgumentParser, kind: str, *, is_optional: bool = False) -> None:
    """Add the names of objects, as positional arguments or, as in vcctl, as `--name`."""
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"name of a {kind}")
    parser.add_argument(
        "-N", "--name", dest="named", action="append", default=[], metavar="NAME", help=f"also the name of a {kind}"
    )
    parser.set_defaults(kind=kind, needs_names=not is_optional, parser=parser)


def names_of(given: argparse.Namespace) -> list[str]:
    """Return the given names. Report a command line error if a name is required and none is given."""
    names = [*given.names, *given.named]
    if not names and given.needs_names:
        given.parser.error(f"the name of a {given.kind} is needed")
    return names


def amounts(text: str) -> Mapping[str, str]:
    """Parse amounts by resource name: `cpu=4,memory=8Gi`.

    Raises:
        argparse.ArgumentTypeError: The text has another format.
    """
    found = {}
    for part in text.split(",") if text else ():
        name, sign, amount = part.partition("=")
        if not (name and sign):
            raise argparse.ArgumentTypeError(f"invalid argument syntax {part}, expected <resource>=<value>")
        try:
            parse(amount)
        except QuantityError as error:
            raise argparse.ArgumentTypeError(f"{name}: {error}") from error
        found[name] = amount
    return found


def print_line(text: str) -> None:
    """Print a line on standard output."""
    print(text)  # noqa: T201 - what a command line is for


def print_error(text: str) -> None:
    """Print a line on standard error."""
    print(text, file=sys.stderr)  # noqa: T201 - as above
