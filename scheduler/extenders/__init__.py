"""Extenders in a process: the HTTP client, and its use by the cycle's thread and by the binder.

`client` sends HTTP requests. `waiting` makes the cycle's thread wait for them. `binding` binds pods through extenders.
`recorded` records replies and replays them.
"""
