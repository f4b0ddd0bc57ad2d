"""Shared devices: cards of a node that several pods may share, from annotations of nodes and pods.

Belongs here: the cards of a node, the card requests of a pod, the cards allocated to a pod, and the usage of a card.
Does not: the choice of cards (`plugins.deviceshare`), and devices of resource claims (`model.device_claims`).
"""
