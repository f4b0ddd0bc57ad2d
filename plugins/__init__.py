"""Policies, one per file or folder: job and queue order, node fit and scores, fair shares, victims.

Belongs here: rules, their arguments and their arithmetic. Does not belong here: input and output, and code that several
plugins need; such code has a name and a place in framework or model. Plugins do not import each other.
"""
