"""Admission: what users' objects must be before the API server stores them.

Here belong the rules by kind (pure functions, which the controllers call too), the server that answers the API
server's questions, its certificates, and the manifests that tell the API server of it. What an object brings about
belongs to its controller.
"""
