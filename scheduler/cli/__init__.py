"""The command line: its entry point, the flags of processes, and the commands.

Belongs here: flags, options, feature gates, printed output. Does not belong here: the work that a command starts.
"""
