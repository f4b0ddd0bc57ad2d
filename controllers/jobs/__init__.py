"""The Job controller: pods, pod group, volumes and plugins of a Job, through its whole life.

Belongs here: what a Job's state follows from, and the steps that lead to the next one. Does not: where its pods run.
"""
