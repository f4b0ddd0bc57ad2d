"""Placement: candidates and scores of nodes, the order of work, and placing tasks, jobs and sub-jobs."""
