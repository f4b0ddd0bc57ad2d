"""Runtime of the controllers: stores that reflectors fill, work queues, reconcilers, and writes that may be repeated.

Belongs here: code for all kinds of objects. Does not: code for one kind, and rules of one controller.
"""
