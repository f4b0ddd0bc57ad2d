"""Diagnosis: why jobs and tasks wait, in conditions, events and messages, and what is wrong with a configuration."""
