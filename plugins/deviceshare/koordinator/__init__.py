"""Koordinator's devices as a family of deviceshare: whole and shared GPUs, RDMA cards, FPGAs.

arguments.py    arguments that are structures
rules.py        rules from the arguments
family.py       the family: interface of the device allocator and the plugin
demand.py       demand of a pod
needs.py        the demand on a node with a certain layout, or why the node can never serve it
claims.py       annotations about devices of pods on a node
free.py         free amounts of devices
generic.py      devices one by one, best score first; virtual functions
gpus.py         choice of GPUs: by partition, by topology, or one by one
scopes.py       GPUs within a PCIe switch, a NUMA node, or the node
partitions.py   GPU partitions from a table
together.py     all types of a pod, close to each other if requested
alignment.py    all devices of a pod within few NUMA nodes
exclusive.py    pods that share no PCIe switch with others
scoring.py      scores of devices and nodes
reasons.py      reasons of refusals
"""
