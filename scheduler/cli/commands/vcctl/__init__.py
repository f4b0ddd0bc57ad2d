"""Commands like vcctl's: queues, jobs and quotas in the format of `kubectl`; usable as `kubectl pyroclast`.

Belongs here: flags, tables, and the few API requests that a command needs.
Does not belong here: decisions. The controllers carry out what a command requests.
"""
