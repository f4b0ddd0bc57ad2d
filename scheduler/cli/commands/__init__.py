"""Commands of the command line, one a file, each with `main(arguments) -> exit status`.

Belongs here: arguments, what is printed, exit statuses. Does not: the work itself.
"""
