"""Extenders as a process meets them: the client that asks them, from the cycle's thread and for the binder.

`client` speaks HTTP, `waiting` lets the cycle's thread wait for it, `binding` has pods bound by them, `recorded` writes
down what they answered and answers by it.
"""
