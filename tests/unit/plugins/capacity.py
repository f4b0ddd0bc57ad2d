"""What tests of the plugin capacity share."""

from pyroclast.framework.extension import contract
from pyroclast.plugins.capacity.plugin import QueueLedger
from tests.unit.plugins.policies import World

__all__ = ["holding"]


def holding(there: World) -> QueueLedger:
    """What the plugin keeps."""
    made = there.function(contract.QUEUE_ORDER).function.__self__
    assert isinstance(made, QueueLedger)
    return made
