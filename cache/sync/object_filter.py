"""Object filter: which objects belong to this scheduler, and which others it needs."""

from pyroclast.cache.options import StateOptions
from pyroclast.cache.sync.ring import owner_key
from pyroclast.model import wire

__all__ = ["ObjectFilter"]


class ObjectFilter:
    """Tells ours from others', by scheduler name and hash ring."""

    def __init__(self, options: StateOptions) -> None:
        """Judge by `options`."""
        self._options = options

    def is_ours(self, pod: wire.Pod) -> bool:
        """Tell whether a pod is ours to place."""
        options = self._options
        if not options.ignore_scheduler_name and pod.spec.scheduler_name not in options.scheduler_names:
            return False
        return options.ownership is None or options.ownership.owns(owner_key(pod.metadata))

    def matters(self, pod: wire.Pod) -> bool:
        """Tell whether a pod is ours to place, or takes room on one of our nodes."""
        return self.is_ours(pod) or (bool(pod.spec.node_name) and self.has_node(pod.spec.node_name))

    def has_node(self, name: str) -> bool:
        """Tell whether a node is in our part of the ring."""
        return self._options.ownership is None or self._options.ownership.owns(name)

    def has_group(self, group: wire.PodGroup) -> bool:
        """Tell whether a group is in our part of the ring."""
        return self._options.ownership is None or self._options.ownership.owns(owner_key(group.metadata))
