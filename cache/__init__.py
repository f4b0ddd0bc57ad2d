"""The live picture of the cluster: kept by books, photographed as snapshots, with plans assumed into it.

Belongs here: how objects become nouns, what is counted as they come and go, the assumptions on top of it. Does not:
any decision, and how the API server is spoken to (`kube`).
"""
