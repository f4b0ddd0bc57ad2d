"""Actions of a cycle, one per file; the configuration's `actions:` line gives their order.

Belongs here: the order in which jobs are offered resources. Does not belong here: fair shares (plugins), and how
placements are made and undone (framework).
"""
