"""Gangs: pods that form jobs without a PodGroup of Volcano, and members that ended."""
