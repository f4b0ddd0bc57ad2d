"""Default queues: the root queue and the default queue are added if they are missing, as a running scheduler does."""

from collections.abc import Iterable, Mapping
from typing import Any

from pyroclast.cache.files.objects import unfolded
from pyroclast.model.ids import QueueName
from pyroclast.model.queues import ROOT_QUEUE

__all__ = ["with_default_queues"]


def with_default_queues(objects: Iterable[Mapping[str, Any]], default: QueueName) -> tuple[Mapping[str, Any], ...]:
    """Add the queues that the scheduler would create in a cluster without them."""
    known = tuple(unfolded(objects))
    names = {_name(each) for each in known if each.get("kind") == "Queue"}
    return (*known, *(_queue(name) for name in (ROOT_QUEUE, default) if name not in names))


def _name(each: Mapping[str, Any]) -> str:
    metadata = each.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, Mapping) else ""


def _queue(name: QueueName) -> Mapping[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1},
        "status": {"state": "Open"},
    }
