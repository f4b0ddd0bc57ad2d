"""The JobFlow and JobTemplate controllers: Jobs from templates, each when those it depends on have completed.

Belongs here: the Jobs of a flow to create, the progress of a flow, the Jobs of a template. Does not: steps of a Job.
"""
