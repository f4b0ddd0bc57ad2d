"""The Job controller: pods, pod group, volumes and plugins of a Job during its lifecycle.

Belongs here: the state of a Job, and the steps to the next state. Does not: the placement of its pods.
"""
