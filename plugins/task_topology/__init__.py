"""Task-topology: place related roles of a job on one node, and separate others.

`relations` reads the annotations of a PodGroup. `buckets` groups its tasks. `scoring` scores nodes. `plugin` registers
the extension points. The page is docs/plugins/task-topology.md.
"""
