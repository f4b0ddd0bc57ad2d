"""NodeNUMA: Koordinator's CPU orchestration (NodeNUMAResource).

arguments.py    arguments
demand.py       what a pod requires
nodes.py        policies, CPUs and NUMA nodes of a node
usage.py        what the pods of a node hold
accumulate.py   which CPUs a pod gets
amounts.py      amounts spread over NUMA nodes
reserved_cpus.py  what Reservations keep, and how owners get it
hints.py        sets of NUMA nodes, and the best of them
choice.py       all of it for one pod on one node
scoring.py      arithmetic of scores
scores.py       scores of nodes
reasons.py      reasons of refusals
allocator.py    the ledger
plugin.py       registration of the extension points

The page is docs/plugins/nodenuma.md. The model parses labels and annotations, and the cache watches
NodeResourceTopologies.
"""

from pyroclast.plugins.nodenuma.arguments import NodeNumaArgs
from pyroclast.plugins.nodenuma.plugin import NodeNuma, is_asked_for

__all__ = ["NodeNuma", "NodeNumaArgs", "is_asked_for"]
