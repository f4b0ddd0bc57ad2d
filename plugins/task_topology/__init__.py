"""Task-topology: put roles of a job that belong together on one node, and keep others apart.

`relations` reads the annotations of a PodGroup, `buckets` sorts its tasks, `scoring` scores nodes, `plugin` registers.
The page is docs/plugins/task-topology.md.
"""
