"""The JobFlow and JobTemplate controllers: create Jobs from templates when their dependencies have completed.

Belongs here: the Jobs of a flow to create, the progress of a flow, the Jobs of a template. Does not: steps of a Job.
"""
