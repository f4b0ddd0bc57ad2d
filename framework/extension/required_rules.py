"""Required rules: a task waits where no configured plugin keeps it to a rule that it demands."""

from pyroclast.framework.extension.registration import Registering
from pyroclast.model.refusals import Refusal
from pyroclast.model.required_rules import required_rules
from pyroclast.model.tasks import Task

__all__ = ["unserved_rule"]


def unserved_rule(session: Registering, task: Task) -> Refusal | None:
    """Refuse a task that demands a rule which no plugin serves; no eviction changes that."""
    for rule in required_rules(task.pod):
        if not session.serves(rule):
            message = f"the pod requires {rule}, which no configured plugin serves"
            return Refusal(plugin="scheduler", reason="RuleNotServed", message=message, resolvable=False)
    return None
