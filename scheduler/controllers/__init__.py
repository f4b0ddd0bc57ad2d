"""The process of the controllers: its options, its controllers, leader election and shutdown.

Belongs here: the code that connects `controllers` with the options, logs and probes of a process.
Does not belong here: the work of a controller.
"""
