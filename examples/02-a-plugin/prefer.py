"""Prefer: rank nodes with a label higher."""

from dataclasses import dataclass

from pyroclast import NodeView, Plugin, Session, Task, contract


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Keys under `arguments:` in the configuration."""

    label: str = "example.com/price"
    value: str = "low"
    weight: float = 100.0


class Prefer(Plugin):
    """Adds `weight` to the score of nodes whose `label` has the configured `value`."""

    name = "prefer"
    arguments = Arguments

    def __init__(self, args: Arguments) -> None:
        """Store the arguments, which are already checked."""
        self.args = args

    def on_session_open(self, session: Session) -> None:
        """Register the points of this plugin."""

        def score(_task: Task, node: NodeView) -> float:
            return self.args.weight if node.labels.get(self.args.label) == self.args.value else 0.0

        session.extensions.register(contract.NODE_ORDER, self.name, score)
