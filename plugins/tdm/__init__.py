"""Tdm: use revocable nodes by the time of day.

`windows` parses times of day. `budgets` limits the evictions of a job. `plugin` registers the extension points.
"""
