"""Koordinator's CPU orchestration: what nodes and pods say about CPUs and NUMA nodes.

names.py      labels, annotations, policies
topology.py   CPUs and NUMA nodes of a node, from its NodeResourceTopology
amplified.py  amplified amounts of nodes
specs.py      CPU and NUMA policies of a pod
status.py     the decision about a pod, as the bind writes it

Belongs here: values and their texts. Does not: the choice of CPUs (`plugins.nodenuma`).
"""
