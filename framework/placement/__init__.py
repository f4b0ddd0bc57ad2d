"""Placement: the order of work, the search for places of gangs, and placing tasks, jobs and sub-jobs."""
