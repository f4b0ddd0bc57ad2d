"""Network-topology-aware: place the tasks of a job in close domains of the network (HyperNodes).

`plugin` registers the extension points. `gradients` orders the domains to try. `fullness` scores domains. `closeness`
and
`packing` score nodes. The page is docs/plugins/network-topology-aware.md.
"""
