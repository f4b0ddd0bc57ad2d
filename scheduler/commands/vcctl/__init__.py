"""Commands for people: queues and jobs, as `kubectl` shows and words things; usable as `kubectl pyroclast`.

Belongs here: flags, tables, and the few requests behind them. Does not: decisions; what a command asks for is done by
the controllers.
"""
