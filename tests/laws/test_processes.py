"""Decisions do not depend on the process that makes them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "conformance" / "cases" / "plain.jsonl"


def answers(hash_seed: str) -> list[str]:
    """Return the answers of a process of its own, without the seconds it took."""
    run = "import sys; from pyroclast.scheduler.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", run, "simulate", "--batch", str(CASES)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.partition('"seconds"')[0] for line in done.stdout.splitlines()]


def test_hash_seeds_do_not_matter() -> None:
    """Sets and maps are never walked in an order that differs between processes."""
    first = answers("1")

    assert len(first) == len(CASES.read_text(encoding="utf-8").splitlines())
    assert first == answers("2")
