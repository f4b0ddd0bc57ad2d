"""Admission: validation and defaults of users' objects before the API server stores them.

Belongs here: the rules by kind (pure functions, which the controllers call too), the server that answers the API
server's admission reviews, its certificates, and the webhook configurations. Does not: the effects of an object, which
belong to its controller.
"""
