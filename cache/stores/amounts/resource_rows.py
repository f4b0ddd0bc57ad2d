"""Resource rows: the resource space of the cluster state, grown and shrunk as objects name resources.

Pods, nodes, queues and quotas name resources. Each name with a row costs several numbers per node and per job, so rows
that no object names any more are dropped from time to time.
"""

from collections.abc import Callable, Iterable
from typing import Final

from pyroclast.cache.stores.amounts.resource_names import ResourceNames
from pyroclast.cache.translation.template_deltas import TemplateDeltas
from pyroclast.model.resources import Amounts, ResourceSpace
from pyroclast.model.tasks import TaskTemplate

__all__ = ["ResourceRows"]

_SLACK: Final = 64
"""Rows without an object that are kept at least."""


class ResourceRows:
    """The resource space, and the amounts of templates in it."""

    def __init__(self, respace: Callable[[ResourceSpace], None]) -> None:
        """Begin with the rows that every space has; `respace` is called after each change of the space."""
        self.names = ResourceNames()
        self.space = ResourceSpace()
        self.deltas = TemplateDeltas(self.space)
        self._respace = respace
        self._limit = _SLACK

    def cover(self, amounts: Iterable[Amounts]) -> None:
        """Grow the space where amounts name a resource without a row."""
        space = self.space.covering(amounts)
        if space is not self.space:
            self._change(space)

    def cover_template(self, template: TaskTemplate) -> None:
        """Grow the space for the request of a template that is seen for the first time."""
        if not self.deltas.knows(template):
            self.cover([template.request])
            self.deltas.request(template)

    def offer(self, *offers: Amounts) -> None:
        """Give the resources that a node or a queue offers rows of their own."""
        self.names.withdraw()  # its earlier version may have offered other resources
        for amounts in offers:
            self.names.offer(amounts)
        self.cover(offers)

    def drop_unused(self, mentioned: Callable[[], Iterable[Amounts]]) -> None:
        """Drop the rows of resources that no object mentions, once they are as many as the others.

        Args:
            mentioned: Returns all amounts of the cluster state. It is called only when the space has grown.
        """
        if len(self.space) <= self._limit:
            return
        space = self.space
        used = {*ResourceSpace().names, *(name for amounts in mentioned() for name in amounts)}
        names = [name for name in space.names if name in used]
        self._limit = 2 * len(names) + _SLACK
        if len(names) < len(space):
            self._change(ResourceSpace(tuple(names), tuple(space.scales[space.rows[name]] for name in names)))

    def forget_templates(self) -> None:
        """Drop the amounts of all templates; they are computed again at their next use."""
        self.deltas = TemplateDeltas(self.space)

    def _change(self, space: ResourceSpace) -> None:
        self.space = space
        self.deltas = TemplateDeltas(space)
        self._respace(space)
