"""Ids: a separate type for each kind of name, so that they cannot be mixed."""

from typing import NewType

__all__ = ["JobId", "NodeName", "QueueName", "SubJobId", "TaskId"]

JobId = NewType("JobId", str)
"""A pod group: `<namespace>/<name>`."""

SubJobId = NewType("SubJobId", str)
"""A part of a job: `<namespace>/<name>/<policy>-<values>`, or the job's id for the rest of it."""

TaskId = NewType("TaskId", str)
"""A pod: its UID."""

QueueName = NewType("QueueName", str)
"""A queue: its name; queues are cluster-wide."""

NodeName = NewType("NodeName", str)
"""A node: its name."""
