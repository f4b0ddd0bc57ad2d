"""Phases of a cycle, one per file; the configuration's `actions:` line gives their order.

Belongs here: in which order jobs are offered what. Does not: who deserves what (plugins), how placements are made and
undone (framework).
"""
