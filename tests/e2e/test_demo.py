"""The demonstration, as a new user runs it."""

import subprocess
import sys

DEMO_SECONDS = 180.0
"""Longest run; ten seconds are usual, the README promises less than a minute on a machine that does nothing else."""


def test_the_demo_shows_a_cluster_before_and_after() -> None:
    """All pods run, no gang is broken, and the gang that can never fit has its reason."""
    done = subprocess.run(
        [sys.executable, "-m", "pyroclast.scheduler", "demo"],
        capture_output=True,
        text=True,
        timeout=DEMO_SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    for words in ("Before", "After", "bound  2000 of 2000, running  2000", "all pods run", "200 Insufficient cpu"):
        assert words in done.stdout, done.stdout
