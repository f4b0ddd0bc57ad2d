"""Cameras: a new kind of device, as one plugin.

A node lists its cameras in an annotation: `front@0,rear@1`, each with its NUMA node. A pod asks for a number of them by
the extended resource `example.com/camera`, and may name one in an annotation. The bind of a pod writes an annotation
with the cameras that it gets.
"""

from collections.abc import Iterator, Mapping, Sequence

from pyroclast import Allocation, Allocator, Plugin, Session, Task

RESOURCE = "example.com/camera"
CAMERAS = "example.com/cameras"
"""Annotation: the cameras of a node with their NUMA nodes, or the cameras of a pod."""
NAME = "example.com/camera-name"
"""Annotation of pods: the camera that must be among theirs."""


class Cameras(Plugin):
    """Gives pods cameras."""

    name = "cameras"
    watches_clock = False
    guards_victims = False

    def on_session_open(self, session: Session) -> None:
        """Register the allocator."""
        session.extensions.register_allocator(self.name, CameraAllocator(session))


class CameraAllocator(Allocator):
    """The cameras of each node that are free."""

    aligns = True

    def __init__(self, session: Session) -> None:
        """Read what the nodes have, and what the pods on them hold."""
        self.numa_of = [dict(_listed(node.annotations)) for node in session.nodes.facts.nodes]
        """NUMA node of each camera, by column."""
        self.holder = [self._holders(column, session) for column in range(len(self.numa_of))]
        """Task that has a camera, by column."""

    def _holders(self, column: int, session: Session) -> dict[str, str]:
        """Return the task of each camera in use. Users can edit annotations, so each pod has as many as it asks for."""
        holder: dict[str, str] = {}
        lacking: dict[str, int] = {}
        for task in filter(self.concerns, session.nodes.tasks_on(column).values()):
            count = _count(task)
            listed = dict.fromkeys(task.pod.metadata.annotations.get(CAMERAS, "").split(","))
            names = [name for name in listed if name in self.numa_of[column] and name not in holder][:count]
            holder.update(dict.fromkeys(names, task.id))
            lacking[task.id] = count - len(names)
        for task_id, count in lacking.items():
            others = [name for name in self.numa_of[column] if name not in holder]
            holder.update(dict.fromkeys(others[:count], task_id))
        return holder

    def concerns(self, task: Task) -> bool:
        """Return whether a pod asks for cameras."""
        return RESOURCE in task.template.request

    def allocate(self, task: Task, column: int, numa_nodes: int | None, *, dry_run: bool) -> Allocation | str:
        """Give the named camera and the first free ones of the NUMA nodes."""
        count = _count(task)
        named = task.pod.metadata.annotations.get(NAME)
        free = [
            name
            for name, numa in sorted(self.numa_of[column].items(), key=lambda item: (item[0] != named, item[0]))
            if name not in self.holder[column] and (numa_nodes is None or numa_nodes >> numa & 1)
        ]
        if named is not None and named not in free:
            return f"node(s) without a free camera {named}"
        if len(free) < count:
            return "node(s) without enough free cameras"
        if not dry_run:
            self.give(task, column, _allocation(free[:count]))
        return _allocation(free[:count])

    def free(self, task: Task, column: int) -> Allocation | None:
        """Take back the cameras of a pod."""
        names = [name for name, holder in self.holder[column].items() if holder == task.id]
        for name in names:
            del self.holder[column][name]
        return _allocation(names) if names else None

    def give(self, task: Task, column: int, allocation: Allocation) -> None:
        """Give a pod these cameras."""
        self.holder[column].update(dict.fromkeys(allocation.items, task.id))


def _count(task: Task) -> int:
    return task.template.request[RESOURCE] // 1000  # amounts are thousandths


def _allocation(names: Sequence[str]) -> Allocation:
    return Allocation(annotations={CAMERAS: ",".join(names)}, items=tuple(names))


def _listed(annotations: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield the cameras that a node lists, with their NUMA nodes."""
    for each in annotations.get(CAMERAS, "").split(","):
        name, _, numa = each.partition("@")
        if name:
            yield name, int(numa) if numa in {"0", "1", "2", "3", "4", "5", "6", "7"} else 0
