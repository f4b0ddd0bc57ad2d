"""HyperNode controller: counts the members of network domains, and discovers domains by labels of nodes.

Belongs here: what the members of a HyperNode come to, and which HyperNodes the labels of nodes make. Does not: placing
by them.
"""
