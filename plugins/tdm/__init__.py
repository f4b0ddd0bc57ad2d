"""Tdm: revocable nodes by the clock. `windows` knows times of day, `budgets` how many tasks of a job may go at once."""
