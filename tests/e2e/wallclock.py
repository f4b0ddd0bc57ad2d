"""A wall clock of its own for one process, which a test lets jump while the process runs.

The clocks of this machine are shared, and a time namespace shifts only those that cannot jump. So the process is
started with a module that Python loads before anything else, and that adds to `time.time` what stands in a file. Left
alone are the monotonic clock, as in a real jump, and `datetime`, which only dates log lines.
"""

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["WallClock"]

_MODULE = """\
import os
import time

_true = time.time


def _ahead():
    with open(os.environ["PYROCLAST_TEST_CLOCK"]) as file:
        return float(file.read())


time.time = lambda: _true() + _ahead()
time.time_ns = lambda: int(time.time() * 1e9)
"""


class WallClock:
    """What one process takes for the time of day."""

    def __init__(self, folder: Path) -> None:
        """Begin with the true time; `folder` is the clock's own."""
        folder.mkdir()
        self._folder, self._file = folder, folder / "ahead"
        (folder / "sitecustomize.py").write_text(_MODULE)
        self.jump_to(0.0)

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables of the process that is to have this clock."""
        others = os.environ.get("PYTHONPATH", "")
        path = os.pathsep.join(each for each in (str(self._folder), others) if each)
        return {"PYTHONPATH": path, "PYROCLAST_TEST_CLOCK": str(self._file)}

    def jump_to(self, ahead_seconds: float) -> None:
        """Be so far ahead of the true time from now on."""
        fresh = self._file.with_suffix(".new")  # a reader finds one number or the other, never half of one
        fresh.write_text(str(ahead_seconds))
        fresh.replace(self._file)
