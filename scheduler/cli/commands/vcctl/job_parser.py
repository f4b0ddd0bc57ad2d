"""The command line of `pyroclast job`. It imports little, because completion loads it at each key press."""

import argparse
from collections.abc import Callable, Sequence
from typing import Final

from pyroclast.model.api.names import DEFAULT_SCHEDULER
from pyroclast.scheduler.cli.commands.vcctl.flags import (
    add_cluster,
    add_names,
    add_namespace,
    add_output,
    amounts,
    program,
)

__all__ = ["parser"]

_AMOUNTS: Final = "cpu=1000m,memory=100Mi"


def parser() -> argparse.ArgumentParser:
    """Return the parser of `pyroclast job`."""
    root = argparse.ArgumentParser(prog=f"{program()} job", description="Jobs of batch.volcano.sh.")
    actions = root.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, about, build in _ACTIONS:
        one = actions.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
        build(one)
        add_cluster(one)
    return root


def _build_list(one: argparse.ArgumentParser) -> None:
    add_names(one, "job", is_optional=True)
    add_namespace(one, has_all=True)
    one.add_argument("-l", "--selector", default="", metavar="LABELS", help="only jobs with these labels")
    one.add_argument("-q", "--queue", default="", help="only jobs of this queue")
    one.add_argument("-S", "--scheduler", default="", help="only jobs of this scheduler")
    add_output(one)


def _build_view(one: argparse.ArgumentParser) -> None:
    add_names(one, "job")
    add_namespace(one)
    add_output(one, has_table=False)


def _build_run(one: argparse.ArgumentParser) -> None:
    add_names(one, "job")
    add_namespace(one)
    one.add_argument(
        "-f", "--filename", default="", metavar="FILE", help="manifest of jobs, YAML or JSON; - reads standard input"
    )
    one.add_argument("-i", "--image", default="busybox", help="image of the container; busybox by default")
    one.add_argument("-m", "--min", type=int, default=1, help="minimum number of pods that run together; 1 by default")
    one.add_argument("-r", "--replicas", type=int, default=1, help="number of pods; 1 by default")
    one.add_argument(
        "-R", "--requests", type=amounts, default=_AMOUNTS, help=f"requests of a pod; {_AMOUNTS} by default"
    )
    one.add_argument("-L", "--limits", type=amounts, default=_AMOUNTS, help=f"limits of a pod; {_AMOUNTS} by default")
    one.add_argument("-S", "--scheduler", default=DEFAULT_SCHEDULER, help=f"scheduler; {DEFAULT_SCHEDULER} by default")
    one.add_argument("-q", "--queue", default="", help="queue; the default queue by default")
    one.add_argument(
        "--command", nargs=argparse.REMAINDER, default=[], help="command of the container: the rest of the line"
    )
    add_output(one, has_table=False)


def _build_plain(one: argparse.ArgumentParser) -> None:
    add_names(one, "job")
    add_namespace(one)


_ACTIONS: Final[Sequence[tuple[str, str, Callable[[argparse.ArgumentParser], None]]]] = (
    ("list", "list jobs", _build_list),
    ("view", "describe jobs, with their events", _build_view),
    ("run", "create jobs from flags or a manifest", _build_run),
    ("suspend", "ask the controllers to abort jobs", _build_plain),
    ("resume", "ask the controllers to resume jobs", _build_plain),
    ("delete", "delete jobs and their pods", _build_plain),
)
