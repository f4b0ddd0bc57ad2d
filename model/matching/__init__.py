"""Matching: labels, node selectors, tolerations and pod affinity terms, by Kubernetes' rules.

Belongs here: who is selected by what, as functions of labels and as masks over the columns of a node table. Does not:
what follows from it (that is a plugin), and counts that change within a session (`framework.session.pods`).
"""
