"""Arguments of nodenuma, with Koordinator's names."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from pyroclast.framework.configuration.arguments import argument
from pyroclast.model.resources import CPU, MEMORY
from pyroclast.plugins.nodenuma.scoring import LEAST, Scoring

__all__ = ["NodeNumaArgs", "ResourceWeight", "ScoringStrategy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceWeight:
    """Weight of one resource in scores."""

    name: str
    weight: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringStrategy:
    """Scoring of nodes, or of NUMA nodes."""

    type: Literal["LeastAllocated", "MostAllocated"] = LEAST
    resources: tuple[ResourceWeight, ...] = (ResourceWeight(name=CPU), ResourceWeight(name=MEMORY))

    @property
    def scoring(self) -> Scoring:
        """The arithmetic that it sets."""
        return Scoring(self.type, tuple((each.name, each.weight) for each in self.resources if each.weight > 0))

    def doubts(self) -> Iterable[str]:
        """Yield warnings about weights without effect."""
        for number, each in enumerate(self.resources):
            if each.weight < 1:
                yield (
                    f"resources[{number}].weight: got {each.weight}, so {each.name!r} has no effect; "
                    "expected at least 1"
                )


_STRATEGY: Final = ScoringStrategy()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNumaArgs:
    """Arguments of nodenuma."""

    weight: int = argument("weight", 1, least=0)
    """Weight of this plugin's score; 0 disables it."""
    default_policy: Literal["", "FullPCPUs", "SpreadByPCPUs", "ConstrainedBurst"] = argument(
        "defaultCPUBindPolicy", "FullPCPUs", refuse=True
    )
    """CPU policy of LSE and LSR pods that state none; if empty or `ConstrainedBurst`, they get no CPUs of their own."""
    scoring: ScoringStrategy = argument("scoringStrategy", _STRATEGY, nested=True)
    """Scoring of nodes: `LeastAllocated` or `MostAllocated`, and `resources` with weights."""
    numa_scoring: ScoringStrategy = argument("numaScoringStrategy", _STRATEGY, nested=True)
    """Scoring of sets of NUMA nodes; its type is also the default strategy for CPUs."""
