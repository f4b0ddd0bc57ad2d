"""Runtime of the controllers: stores that reflectors fill, work queues, reconcilers, and writes that may be repeated.

Belongs here: nothing that knows one kind of object alone. Does not: any rule of a controller.
"""
