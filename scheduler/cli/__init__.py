"""The command line: its entry point, the flags of processes, and the commands.

Belongs here: flags, options, features, what is printed. Does not: what a command does beyond that.
"""
