"""Generated tests draw the same examples on every run, and none fails for being slow.

The same tree passes or fails always, so a failure belongs to the change at hand; PYROCLAST_DEEP=1 draws anew each time,
for those who look for them. Speed is measured in `benchmarks/`, never asserted in a test: a machine that does something
else beside the tests is many times slower at one moment than at another, and a coverage figure costs as much again.
"""

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests.drawing import IS_DEEP

settings.register_profile(
    "the-same-on-every-machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not IS_DEEP,
)
if not IS_DEEP:
    # Hypothesis also draws numbers and texts that stand in the loaded modules of the checkout. Which modules are loaded
    # depends on the tests that ran before in the same process, and no setting turns it off.
    assert callable(providers._get_local_constants)
    providers._get_local_constants = lambda: providers._local_constants
settings.load_profile("the-same-on-every-machine")
