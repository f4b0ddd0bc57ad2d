"""Statements: transactions on a session, and the plans that they become."""
