"""NUMA-aware: place Guaranteed pods where the kubelet's topology policy lets them run.

`selection` chooses CPUs, `affinity` NUMA nodes, `alignment` joins both under a policy, `wishes` reads pods, `books`
counts the CPUs that are free, `verdicts` judges nodes, `plugin` registers. Numatopologies are read in `model/numa.py`.
The page is docs/plugins/numa-aware.md.
"""
