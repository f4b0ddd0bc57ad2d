"""Queue controller: the states of queues, and the counts of their gangs.

Belongs here: opening and closing, by command and by parent; counts of gangs. Does not: what a queue may use (plugins of
the scheduler), and what may be written into one (admission).
"""
