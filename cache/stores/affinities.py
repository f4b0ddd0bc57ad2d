"""Affinities: the placed pods with pod affinity or anti-affinity, which other pods have to respect."""

from pyroclast.cache.stores.node_store import NodeStore
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.tasks import Task, by_name

__all__ = ["PlacedAffinities"]


class PlacedAffinities:
    """Tasks on nodes whose pods have affinity or anti-affinity terms."""

    def __init__(self, nodes: NodeStore) -> None:
        """Start without tasks; `nodes` are those of the cluster."""
        self._nodes = nodes
        self._tasks: dict[TaskId, Task] = {}
        self._sorted: tuple[tuple[NodeName, ...], tuple[Task, ...]] | None = None

    def exchange(self, old: Task | None, new: Task | None) -> None:
        """Note a placed task in the place of an older state of it; None stands for its absence."""
        if old is not None and self._tasks.pop(old.id, None) is not None:
            self._sorted = None
        if new is not None and _has_pod_affinity(new):
            self._tasks[new.id] = new
            self._sorted = None

    def on_known_nodes(self) -> tuple[Task, ...]:
        """Return the tasks on nodes of the snapshot, in the order of their names."""
        names = self._nodes.names()
        if self._sorted is None or self._sorted[0] is not names:
            placed = sorted(self._tasks.values(), key=by_name)
            known = tuple(task for task in placed if task.node is not None and self._nodes.node(task.node) is not None)
            self._sorted = (names, known)
        return self._sorted[1]


def _has_pod_affinity(task: Task) -> bool:
    affinity = task.template.spec.affinity
    return affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
