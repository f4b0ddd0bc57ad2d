"""Generated tests draw the same examples on every run, and none fails for being slow.

The same tree passes or fails always, so a failure belongs to the change at hand; PYROCLAST_DEEP=1 draws anew each time,
for whoever goes looking. Speed is measured in `benchmarks/`, never asserted in a test: a machine that does something
else beside the tests is many times slower at one moment than at another, and a coverage figure costs as much again.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "the-same-on-every-machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("PYROCLAST_DEEP") != "1",
)
settings.load_profile("the-same-on-every-machine")
