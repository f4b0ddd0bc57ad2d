"""Prefer: rank nodes higher that carry a label."""

from dataclasses import dataclass

from pyroclast import NodeView, Plugin, Session, Task, contract


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What may stand under `arguments:` in the configuration."""

    label: str = "example.com/price"
    value: str = "low"
    weight: float = 100.0


class Prefer(Plugin):
    """Adds `weight` to the score of nodes whose `label` has the wanted `value`."""

    name = "prefer"
    arguments = Arguments

    def __init__(self, args: Arguments) -> None:
        """Take the arguments, already checked."""
        self.args = args

    def on_session_open(self, session: Session) -> None:
        """Say at which points this plugin is asked."""

        def score(_task: Task, node: NodeView) -> float:
            return self.args.weight if node.labels.get(self.args.label) == self.args.value else 0.0

        session.extensions.register(contract.NODE_ORDER, self.name, score)
