"""The frame in which decisions are made: session, statement, extension points, configuration, plugin loading.

Belongs here: how plugins are asked and how their answers combine, how placements are tried, kept and undone, and the
pure `run_cycle`. Does not: any policy (a plugin), any phase of a cycle (an action), any input or output.
"""
