"""Preemption: which pods may be evicted for a job, and the plan with the least harm."""
