"""Amounts: rows of resources and columns of nodes and jobs."""
