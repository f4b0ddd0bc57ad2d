"""What every controller stands on: stores that reflectors fill, work queues, reconcilers, writes that may be repeated.

Belongs here: nothing that knows one kind of object alone. Does not: any rule of a controller.
"""
