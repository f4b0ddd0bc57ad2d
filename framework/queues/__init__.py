"""Queues: admission of jobs, limits and guarantees, and lending of idle capacity."""
