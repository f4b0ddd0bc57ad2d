"""Commands like vcctl's: queues, jobs and quotas in the format of `kubectl`; usable as `kubectl pyroclast`.

Belongs here: flags, tables, and the few requests behind them. Does not: decisions; what a command asks for is done by
the controllers.
"""
