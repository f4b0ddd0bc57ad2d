"""NUMA-aware: place Guaranteed pods on nodes where the kubelet's topology policy admits them.

`selection` chooses CPUs. `affinity` chooses NUMA nodes. `alignment` combines both under a policy. `wishes` reads pods.
`cpu_allocator` counts the free CPUs. `verdicts` judges nodes. `plugin` registers the extension points. `model/numa.py`
parses Numatopologies. The page is docs/plugins/numa-aware.md.
"""
