"""`pyroclast simulate`: decide for a cluster from files, or for a batch of cases."""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from pyroclast.cache.files.objects import unfolded
from pyroclast.cache.options import SINGLE, WAIT, StateOptions
from pyroclast.framework.extension.registry import Registry
from pyroclast.framework.session.shadows.tracing import MOST_NODES
from pyroclast.model.api.names import DEFAULT_SCHEDULER
from pyroclast.model.errors import ConfigError, PyroclastError
from pyroclast.model.ids import QueueName
from pyroclast.model.queues import ROOT_QUEUE
from pyroclast.scheduler.cli.argument_types import positive, up_to
from pyroclast.scheduler.cli.file_errors import why
from pyroclast.scheduler.data import default_configuration
from pyroclast.scheduler.extenders.blocking_client import calling_extenders, no_extenders
from pyroclast.scheduler.monitoring.examinations import DEFAULT_NODES, Explain
from pyroclast.scheduler.registry import load_registry
from pyroclast.scheduler.simulation.answer import answers_of
from pyroclast.scheduler.simulation.batch import Simulation, answer_lines, simulate
from pyroclast.scheduler.simulation.case import Case, moment_of_dump, read_moment
from pyroclast.scheduler.simulation.object_reader import STANDARD_INPUT, read_objects, read_text
from pyroclast.scheduler.simulation.pod_defaults import as_admitted
from pyroclast.scheduler.simulation.table import table

__all__ = ["main"]

EPILOG = """\
exit status:
  0  decided (in a batch: every line was answered, faulty cases with their faults)
  1  the objects cannot be read
  2  the command line or the configuration cannot be used
"""


def main(arguments: Sequence[str]) -> int:
    """Decide for files, or for a batch.

    Raises:
        ConfigError: The configuration cannot be used.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    if bool(given.filename) == bool(given.batch):
        parser.error("give either objects (-f) or a batch of cases (--batch)")
    registry = load_registry(given.plugins_dir)
    try:
        config = read_text(given.config or str(default_configuration()))
        if given.batch:
            return _run_batch(given.batch, registry, config, given.seed)
        return _run_files(given, registry, config)
    except ConfigError:
        raise
    except PyroclastError as error:
        print(f"pyroclast simulate: {error}", file=sys.stderr)  # noqa: T201 - what a command line is for
        return 1


def _run_files(given: Any, registry: Registry, config: str) -> int:
    with calling_extenders() if given.ask_extenders else nullcontext(no_extenders) as answering:
        done = simulate(_case(given, config), registry, config, answering)
    for warning in done.warnings:
        print(f"warning: {warning}", file=sys.stderr)  # noqa: T201 - as above
    print(_json(done) if given.output == "json" else table(done.rounds))  # noqa: T201 - as above
    return 0


def _case(given: Any, config: str) -> Case:
    names = tuple(given.scheduler_name or [DEFAULT_SCHEDULER])
    options = StateOptions(scheduler_names=frozenset(names), ungrouped_pods=given.ungrouped_pods)
    objects = read_objects(given.filename)
    dumped = moment_of_dump(objects)
    return Case(
        id=None,
        config=config,
        objects=_with_default_queues(as_admitted(objects), options.default_queue),
        state=options,
        scheduler_names=names,
        rounds=given.rounds,
        recreate_evicted=given.recreate_evicted,
        seed=given.seed,
        explain=Explain(names=frozenset(given.explain), node_limit=given.explain_nodes) if given.explain else None,
        now=read_moment(given.now) if given.now is not None else time.time() if dumped is None else dumped,
    )


def _json(done: Simulation) -> str:
    answer = {"id": None, "rounds": answers_of(done.rounds), "seconds": done.seconds}
    return msgspec.json.format(msgspec.json.encode(answer)).decode()


def _run_batch(path: str, registry: Registry, config: str, seed: int) -> int:
    with _lines(path) as lines:
        for answer in answer_lines(lines, registry, default_config=config, seed=seed):
            sys.stdout.buffer.write(answer)  # JSON is UTF-8, whatever the terminal's encoding
            sys.stdout.flush()  # the writer of the cases may wait for each answer
    return 0


@contextmanager
def _lines(path: str) -> Iterator[Iterable[bytes]]:
    """Open a batch. Its lines are bytes, so that a line that is not text is only a faulty case."""
    if path == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    try:
        with Path(path).open("rb") as file:
            yield file
    except OSError as error:
        raise PyroclastError(f"{path}: {why(error)}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyroclast simulate",
        description="Schedule a cluster from files, with the same cycle that the scheduler runs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--config", metavar="FILE", help="configuration of the scheduler; built in by default")
    add("-f", "--filename", action="append", metavar="PATH", help="objects: YAML or JSON, a folder, or -; repeatable")
    add("--batch", metavar="CASES", help="file with one JSON case per line, or -; prints one JSON answer per line")
    add("--rounds", type=positive, default=1, metavar="N", help="number of cycles, one second apart")
    add("--recreate-evicted", action="store_true", help="create evicted pods again, pending, with their old names")
    add("--seed", type=int, default=0, metavar="N", help="seed of random choices")
    add(
        "--now",
        metavar="TIME",
        help="time of the first cycle, RFC 3339 or seconds since 1970; by default that of a dump, else now",
    )
    add("-o", "--output", choices=("table", "json"), default="table", help="output format for files")
    add(
        "--scheduler-name",
        action="append",
        metavar="NAME",
        help="schedulerName of the pods to place; repeatable; volcano by default",
    )
    add(
        "--ungrouped-pods",
        choices=(WAIT, SINGLE),
        default=WAIT,
        help="whether pods without a PodGroup wait, or run as gangs of one",
    )
    add(
        "--ask-extenders",
        action="store_true",
        help="call the extenders of the configuration; by default they are left out",
    )
    add(
        "--explain",
        action="append",
        metavar="NAME",
        help="show scores and refusals of nodes for a pod, or the pods of a job, by namespace/name; repeatable",
    )
    add(
        "--explain-nodes",
        type=up_to(MOST_NODES),
        default=DEFAULT_NODES,
        metavar="N",
        help="number of nodes in each table of scores",
    )
    add("--plugins-dir", default="", metavar="DIR", help="folder of additional plugins")
    return parser


def _with_default_queues(objects: Iterable[Mapping[str, Any]], default: QueueName) -> tuple[Mapping[str, Any], ...]:
    """Add the queues that the scheduler would create in a cluster without them."""
    known = tuple(unfolded(objects))
    names = {_name(each) for each in known if each.get("kind") == "Queue"}
    return (*known, *(_queue(name) for name in (ROOT_QUEUE, default) if name not in names))


def _name(each: Mapping[str, Any]) -> str:
    metadata = each.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, Mapping) else ""


def _queue(name: QueueName) -> Mapping[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1},
        "status": {"state": "Open"},
    }
