"""Rules: one file for each kind. `defaulted` returns the defaults, `faults_of` the faults.

All are pure: objects and `lookups` in, patches or faults out. No clock, no network, no chance.
"""
