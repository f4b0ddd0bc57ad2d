"""NUMA-aware: place Guaranteed pods on nodes where the kubelet's topology policy admits them.

Points: predicate, node order; a ledger.  Arguments: `NumaAwareArgs`.  Rules and example: docs/plugins/numa-aware.md.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import FloatArray
from pyroclast.plugins.numa_aware.cpu_allocator import CpuAllocator
from pyroclast.plugins.numa_aware.cpu_requests import CpuRequests
from pyroclast.plugins.numa_aware.verdicts import Fit, Policies

__all__ = ["NumaAware", "NumaAwareArgs", "few_first"]

MAX_SCORE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaAwareArgs:
    """Arguments of numa-aware, spelled as in the configuration file."""

    weight: int = 1
    """Weight of this plugin's score; 0 disables it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaAware(Plugin):
    """Refuse nodes whose kubelet would not admit a pod."""

    name = "numa-aware"
    watches_clock = False
    args: NumaAwareArgs = NumaAwareArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        cpu_requests = CpuRequests()
        allocator = CpuAllocator(session, self.name, cpu_requests)
        policies, fit = Policies(allocator, cpu_requests), Fit(allocator, cpu_requests)
        session.extensions.register(
            contract.PREDICATE,
            self.name,
            policies.verdicts,
            locality=Locality.FACTS,
            reasons=policies.reasons,
            part="policy",
        )
        session.extensions.register(
            contract.PREDICATE, self.name, fit.verdicts, locality=Locality.NODE, reasons=fit.reasons, part="cpus"
        )
        if not allocator.parsed_by_node:
            return
        session.extensions.register_ledger(self.name, allocator)
        if self.args.weight:
            session.extensions.register(
                contract.NODE_ORDER,
                self.name,
                fit.numa_counts,
                locality=Locality.NODE,
                normalise=lambda counts: few_first(counts) * self.args.weight,
                weight=self.args.weight,
            )


def few_first(counts: FloatArray) -> FloatArray:
    """Score candidates by the number of NUMA nodes, from 0 for the most to 100 for none; whole numbers."""
    most = counts.max(initial=0.0)
    if not most:
        return np.full(counts.shape, float(MAX_SCORE))
    scores: FloatArray = MAX_SCORE - np.floor(MAX_SCORE * counts / most)
    return scores
