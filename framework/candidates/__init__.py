"""Candidates: which nodes take a task, how good they are, and why the others do not."""
