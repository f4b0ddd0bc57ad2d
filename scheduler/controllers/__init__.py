"""The process of the controllers: its options, which controllers it runs, how it leads and ends.

Belongs here: what joins `controllers` with the options, logs and probes of a process. Does not: anything that a
controller does.
"""
