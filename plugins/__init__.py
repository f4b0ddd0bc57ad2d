"""Policies, one per file or folder: who goes first, who fits where, who deserves what, who may be evicted.

Belongs here: rules, their arguments and their arithmetic. Does not: anything another plugin needs too (that has a name
and a place in framework or model), any input or output. Plugins do not import each other.
"""
