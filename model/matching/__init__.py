"""Matching: labels, node selectors, tolerations and pod affinity terms, by Kubernetes' rules.

Belongs here: selection, as functions of labels and as masks over the columns of a node table. Does not: decisions
that use a selection (plugins), and counts that change within a session (`framework.session.pods`).
"""
