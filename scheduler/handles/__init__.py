"""What plugins get of the API server beside the snapshot: watches of further kinds, and controllers.

Belongs here: what runs beside the cycles for a plugin. Does not: points of a session (`framework`), and controllers of
the scheduler's own kinds (`controllers`).
"""
