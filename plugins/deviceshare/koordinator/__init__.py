"""Koordinator's devices as a family of deviceshare: GPUs whole and shared, RDMA cards, FPGAs.

arguments.py     arguments that are structures
rules.py         what arguments say of who gets which
family.py        the family: what books and plugin are told
demand.py        what a pod asks for
needs.py         what that comes to on a node of one layout, or why the node never serves it
free.py          what is left of devices
generic.py       devices one by one, best score first; virtual functions
gpus.py          which GPUs: by partition, by topology, or one by one
scopes.py        GPUs within one PCIe switch, NUMA node, or the node
partitions.py    GPUs that a table puts together
together.py      all types of a pod, near each other where it wants so
alignment.py     all devices of a pod within few NUMA nodes
exclusive.py     pods that share no PCIe switch with others
scoring.py       scores of devices and nodes
reasons.py       why not
"""
