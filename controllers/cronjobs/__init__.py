"""The CronJob controller: Jobs at set times.

Belongs here: when a time is due, which Jobs are made and which make room. Does not: what a Job does.
"""
