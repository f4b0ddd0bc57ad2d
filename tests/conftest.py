"""No generated test fails for being slow: speed is measured in `benchmarks/`, never asserted in a test.

A machine that does something else beside the tests is many times slower at one moment than at another, and a coverage
figure costs as much again.
"""

from hypothesis import HealthCheck, settings

settings.register_profile("whatever-the-speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("whatever-the-speed")
