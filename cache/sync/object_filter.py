"""Object filter: selects the objects of this scheduler, and the other objects that it needs."""

from pyroclast.cache.options import StateOptions
from pyroclast.cache.sync.ring import owner_key
from pyroclast.model import wire
from pyroclast.model.native.identity import native_group_of

__all__ = ["ObjectFilter"]


class ObjectFilter:
    """Selects objects by scheduler name and hash ring."""

    def __init__(self, options: StateOptions) -> None:
        """Use the scheduler names and the hash ring of `options`."""
        self._options = options

    def is_ours(self, pod: wire.Pod) -> bool:
        """Return whether this scheduler places a pod."""
        options = self._options
        if not options.ignore_scheduler_name and pod.spec.scheduler_name not in options.scheduler_names:
            return False
        return options.ownership is None or options.ownership.owns(native_group_of(pod) or owner_key(pod.metadata))

    def matters(self, pod: wire.Pod) -> bool:
        """Return whether this scheduler places a pod, or the pod is on one of its nodes."""
        return self.is_ours(pod) or (bool(pod.spec.node_name) and self.has_node(pod.spec.node_name))

    def has_node(self, name: str) -> bool:
        """Return whether a node is in this scheduler's part of the ring."""
        return self._options.ownership is None or self._options.ownership.owns(name)

    def has_group(self, group: wire.PodGroup) -> bool:
        """Return whether a group is in this scheduler's part of the ring."""
        return self._options.ownership is None or self._options.ownership.owns(owner_key(group.metadata))
