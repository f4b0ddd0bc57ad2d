"""HyperNode controller: counts the members of network domains, and discovers domains by labels of nodes.

Belongs here: the number of members of a HyperNode, and the HyperNodes that follow from node labels. Does not:
placement.
"""
