"""Examinations: the scores of nodes by plugin for one pod, and which rule refuses which node."""

import msgspec

from pyroclast.model.ids import JobId, NodeName, TaskId

__all__ = ["Examination", "NodeRefusal", "NodeScores", "ScoreColumn"]


class ScoreColumn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One score of a plugin: a column of the table."""

    plugin: str
    """Instance name of the plugin."""
    part: str
    """Name of one of several scores of the plugin; empty if it has one."""
    weight: float
    """Weight that the plugin multiplies its score by; 1 if it declares none."""

    @property
    def label(self) -> str:
        """Return the heading of the column."""
        return f"{self.plugin}: {self.part}" if self.part else self.plugin


class NodeScores(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The scores of one node that fits."""

    node: NodeName
    weighted: tuple[float, ...]
    """Score by column, with its weight. A plugin that abstains gives 0."""
    total: float
    """Sum of the weighted scores."""


class NodeRefusal(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The nodes that one rule refuses. Each node is under the first rule that refuses it."""

    plugin: str
    """The refusing plugin; `resources` for node resources, `shard` for nodes of other schedulers."""
    reason: str
    resolvable: bool
    """Whether evictions might help."""
    count: int
    """Number of nodes."""
    nodes: tuple[NodeName, ...]
    """The first of them by name; bounded in number."""


class Examination(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One pod against all nodes, at one moment of a cycle."""

    task: TaskId
    pod: str
    """`namespace/name`."""
    job: JobId | None
    profile: str = ""
    """Name of the profile that decides about the pod."""
    cycle: int
    moment: str
    """`placed`: just before the placement on `node`. `pipelined`: likewise, on resources that are being released.
    `tried`: just before a placement that was given back. `refused`: when no node was found. `at the end`: at the end of
    the cycle, which did not try to place the pod."""
    action: str
    """The action that ran; empty at the end of a cycle."""
    node: NodeName | None
    """The node that was chosen, or on which the pod runs; None if it has none."""
    node_count: int
    """Number of nodes that were examined."""
    candidate_count: int
    """Number of nodes among which the scores decide."""
    columns: tuple[ScoreColumn, ...]
    scores: tuple[NodeScores, ...]
    """The best candidates, best first, bounded in number. The chosen node is always among them."""
    refusals: tuple[NodeRefusal, ...]
    """Rules that refuse nodes, most nodes first."""
    not_asked: tuple[str, ...] = ()
    """Plugins with scores or predicates from outside the process, which an examination does not ask."""
