"""The CronJob controller: Jobs at set times.

Belongs here: due times, and the Jobs to create and to delete. Does not: the steps of a Job.
"""
