"""Rules: one file for each kind. `defaulted` returns the defaults, `faults_of` the faults.

All functions are pure: they compute patches or faults from objects and `lookups`, without clock, network and random
numbers.
"""
