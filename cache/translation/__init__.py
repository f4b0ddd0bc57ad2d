"""From objects of the API to nouns of the model.

Belongs here: tasks, nodes, templates and annotations as the model has them. Does not: keeping them.
"""
