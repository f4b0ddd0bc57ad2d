"""Devices of resource claims: which ones there are, which ones match a request, and which ones a claim gets.

`pools` reads ResourceSlices, `requests` claims and classes, `selectors` evaluates expressions, `search` chooses devices
on one node, `results` writes an allocation, and `allocator` holds what is given out in a session. The page is
docs/plugins/predicates.md.  Source: Kubernetes' dynamic resource allocation (`DynamicResources` of kube-scheduler).
"""
