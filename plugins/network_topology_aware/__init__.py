"""Network-topology-aware: keep the tasks of a job in close domains of the network (HyperNodes).

`plugin` registers, `gradients` says which domains are tried in which order, `fullness` scores domains, `closeness` and
`packing` score nodes. The page is docs/plugins/network-topology-aware.md.
"""
