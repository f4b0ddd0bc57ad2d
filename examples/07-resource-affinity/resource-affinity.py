"""Resource affinity: jobs name a group of nodes in an annotation; its nodes are preferred or required."""

from dataclasses import dataclass

from pyroclast import NodeView, Plugin, Reason, Session, Task, contract

NODE_GROUP_ANNOTATION = "volcano.sh/preferred-node-group"
"""Annotation of a job (its PodGroup): the group of nodes it prefers."""

NODE_GROUP_LABEL = "volcano.sh/node-group"
"""Label of a node: the group it belongs to."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Keys under `arguments:` in the configuration, for example `prefer-weight: "10"`."""

    prefer_weight: float = 10.0
    require_match: bool = False


class ResourceAffinity(Plugin):
    """Adds ten times `prefer-weight` to nodes of the job's group; with `require-match` it refuses all others."""

    name = "resource-affinity"
    arguments = Arguments
    watches_clock = False

    def __init__(self, args: Arguments) -> None:
        """Store the arguments, which are already checked."""
        self.args = args

    def on_session_open(self, session: Session) -> None:
        """Register the points of this plugin."""

        def node_group(task: Task) -> str:
            job = session.jobs.of(task)
            return "" if job is None else job.annotations.get(NODE_GROUP_ANNOTATION, "")

        def predicate(task: Task, node: NodeView) -> Reason | None:
            group = node_group(task)
            if not group or node.labels.get(NODE_GROUP_LABEL, "") == group:
                return None
            return Reason(f"node(s) not in group {group}", resolvable=False)

        def score(task: Task, node: NodeView) -> float:
            group = node_group(task)
            return self.args.prefer_weight * 10.0 if group and node.labels.get(NODE_GROUP_LABEL) == group else 0.0

        if self.args.require_match:
            session.extensions.register(contract.PREDICATE, self.name, predicate)
        session.extensions.register(contract.NODE_ORDER, self.name, score)
