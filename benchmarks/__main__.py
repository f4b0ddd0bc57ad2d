"""Measure the budgets: `python -m benchmarks [b1 …] [--runs N] [--write-case FILE]`."""

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks import costs, cycles, endtoend, evictions, snapshot
from benchmarks.results import Result, describe_machine, draw, speed_now, table

BENCHMARKS = dict(sorted({**cycles.BENCHMARKS, **evictions.BENCHMARKS, "b6": snapshot.b6, "b8": endtoend.b8}.items()))
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Measure each in a process of its own, so that none inherits another's memory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which: {', '.join(BENCHMARKS)}; all where none is given")
    parser.add_argument("--runs", type=int, default=3, help="cycles to run, of which the median counts")
    parser.add_argument("--write-case", type=Path, metavar="FILE", help="write the input as a simulate case instead")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = arguments.names or list(BENCHMARKS)
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known are {', '.join(BENCHMARKS)}")
    if arguments.write_case:
        if names[0] not in cycles.INPUTS:
            parser.error(f"only {', '.join(cycles.INPUTS)} can be written as a case")
        cycles.input_of(names[0], arguments.write_case)
    elif arguments.alone:
        before = speed_now()
        measured = BENCHMARKS[names[0]](arguments.runs)
        print(json.dumps(asdict(replace(measured, speed=(before + speed_now()) / 2))))
    else:
        report([measured_apart(name, arguments.runs) for name in names])
        if not arguments.names:
            print("", *costs.table(arguments.runs), sep="\n")


def measured_apart(name: str, runs: int) -> Result:
    """Measure one budget in a process of its own."""
    command = [sys.executable, "-m", "benchmarks", name, "--runs", str(runs), "--alone"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Result(**json.loads(output.splitlines()[-1]))


def report(results: list[Result]) -> None:
    """Print the table and draw the picture."""
    RESULTS.mkdir(exist_ok=True)
    print(describe_machine(), end="\n\n")
    print(table(results))
    draw(results, RESULTS / "budgets.png")
    (RESULTS / "budgets.json").write_text(json.dumps([asdict(each) for each in results], indent=1) + "\n")


if __name__ == "__main__":
    main()
