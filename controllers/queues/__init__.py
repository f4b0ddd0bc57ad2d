"""Queue controller: the states of queues, and the counts of their gangs.

Belongs here: opening and closing by commands and with the parent, and counts of gangs. Does not: limits of queues
(plugins of the scheduler), and validation (admission).
"""
