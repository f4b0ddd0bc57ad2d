"""The rules, one file a kind: `defaulted` says what to fill in, `faults_of` what is wrong.

All are pure: objects and `lookups` in, patches or faults out. No clock, no network, no chance.
"""
