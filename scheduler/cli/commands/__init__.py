"""Commands of the command line: one file for each command, with `main(arguments) -> exit status`.

Belongs here: arguments, printed output, exit statuses. Does not belong here: the work itself.
"""
