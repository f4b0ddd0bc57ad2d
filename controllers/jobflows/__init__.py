"""The JobFlow and JobTemplate controllers: Jobs from templates, each when those it depends on have completed.

Belongs here: which Jobs of a flow are made, how far a flow is, which Jobs a template has. Does not: what a Job does.
"""
