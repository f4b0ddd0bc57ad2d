"""Measure the budgets: `python -m benchmarks [b1 …] [--runs N] [--seed N]`, or write what they are measured on."""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from benchmarks import costs
from benchmarks.catalogue import BENCHMARKS, INPUTS
from benchmarks.inputs import write_cases
from benchmarks.results import Result, describe_machine, draw, speed_now, table

RESULTS = Path(__file__).parent / "results"
COSTS = "costs"
"""The table of what each action and plugin costs, which has no budget."""
NAMES = (*BENCHMARKS, COSTS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each in a process of its own, so that none inherits another's memory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which: {', '.join(NAMES)}; default: all")
    parser.add_argument("--runs", type=int, default=3, help="cycles to run, of which the median counts")
    parser.add_argument(
        "--seed", type=int, default=0, help="order, ages and names of what is measured; 0: as generated"
    )
    parser.add_argument(
        "--write-case",
        type=Path,
        metavar="FILE",
        help="write the inputs as cases of `pyroclast simulate --batch` instead",
    )
    parser.add_argument("--small", action="store_true", help="with --write-case: clusters of the same shape, but small")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    names = given.names or list(NAMES)
    if unknown := sorted(set(names) - set(NAMES)):
        parser.error(f"unknown: {', '.join(unknown)}; known are {', '.join(NAMES)}")
    if given.write_case:
        inputs = {name: each for name, each in INPUTS.items() if name.partition("-")[0] in names}
        if not inputs:
            parser.error(f"{', '.join(names)}: not measured on a cluster that could be a case")
        write_cases(inputs, given.write_case, given.seed, is_small=given.small)
    elif given.alone:
        print(msgspec.json.encode(list(measured(names[0], given.runs, given.seed))).decode())
    else:
        if budgets := [name for name in names if name in BENCHMARKS]:
            report([result for name in budgets for result in measured_apart(name, given.runs, given.seed)])
        if COSTS in names:
            print("", *costs.table(given.runs, given.seed), sep="\n")


def measured(name: str, runs: int, seed: int) -> Iterator[Result]:
    """Measure here, with the speed of the machine beside it."""
    before = speed_now()
    results = list(BENCHMARKS[name](runs, seed))
    speed = (before + speed_now()) / 2
    yield from (replace(result, speed=speed) for result in results)


def measured_apart(name: str, runs: int, seed: int) -> list[Result]:
    """Measure one benchmark in a process of its own."""
    command = [sys.executable, "-m", "benchmarks", name, "--runs", str(runs), "--seed", str(seed), "--alone"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return msgspec.json.decode(output.splitlines()[-1], type=list[Result])


def report(results: Sequence[Result]) -> None:
    """Print the table and draw the picture."""
    RESULTS.mkdir(exist_ok=True)
    print(describe_machine(), end="\n\n")
    print(table(results))
    draw(results, RESULTS / "budgets.png")
    encoded = msgspec.json.encode([{**msgspec.to_builtins(each), "verdict": each.verdict} for each in results])
    (RESULTS / "budgets.json").write_bytes(msgspec.json.format(encoded) + b"\n")


if __name__ == "__main__":
    main()
