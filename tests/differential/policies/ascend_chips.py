"""Ascend chips, one node after the other: what docs/plugins/deviceshare.md says of whole chips and of templates."""

import json
from collections.abc import Sequence
from typing import Any

from tests.differential.cluster import Node, Pod
from tests.differential.policies.deviceshare import Cards, DeviceShare, asked

CHIP = "huawei.com/Ascend310P"
REGISTER, ALLOCATED = "hami.io/node-register-Ascend310P", "hami.io/Ascend310P-devices-allocated"
WHOLE, TEMPLATES = 21527, (3072, 6144, 12288)


class AscendChips(DeviceShare):
    """Whole chips, or one by a template."""

    def wish(self, pod: Pod) -> int:
        """How many chips a pod asks for."""
        return asked(pod, CHIP)

    def each(self, pod: Pod) -> int:
        """The memory that a pod gets of each chip."""
        memory = asked(pod, f"{CHIP}-memory")
        return next((size for size in TEMPLATES if memory <= size), WHOLE) if memory else WHOLE

    def register(self, node: Node) -> list[Any]:
        """The chips of a node."""
        listed: list[Any] = json.loads(node.object["metadata"].get("annotations", {}).get(REGISTER, "[]"))
        return listed

    def part(self, node: Node) -> int | None:
        """The memory of each chip; None where there are none."""
        return WHOLE if self.register(node) else None

    def empty(self, node: Node) -> Cards:
        """All chips, before any is allocated."""
        return {at: [] for at in range(len(self.register(node)))}

    def has_room(self, node: Node, device: Any, parts: Sequence[Any], part: Any) -> bool:
        """Whether a chip has a share and so much memory left."""
        return len(parts) < int(self.register(node)[device]["count"]) and WHOLE - sum(parts) >= int(part)

    def named(self, node: Node, taken: dict[Any, list[Any]], pod: Pod) -> list[tuple[Any, Any]]:  # noqa: ARG002
        """The chips that a pod names, no more than it asks for."""
        found = []
        for piece in pod.object["metadata"]["annotations"].get(ALLOCATED, "").strip(";").split(":"):
            at = next((at for at, each in enumerate(self.register(node)) if piece.startswith(f"{each['id']},")), None)
            if at is not None:
                found.append((at, self.each(pod)))
        return found[: self.wish(pod)]

    def unnamed(
        self, node: Node, taken: dict[Any, list[Any]], pod: Pod, named: Sequence[tuple[Any, Any]]
    ) -> list[tuple[Any, Any]]:
        """The first other chips that do, for what a pod asks for beyond those that it names."""
        own = {at for at, _ in named}
        able = [at for at, parts in taken.items() if at not in own and self.has_room(node, at, parts, self.each(pod))]
        return [(at, self.each(pod)) for at in able[: max(self.wish(pod) - len(named), 0)]]

    def gets(self, node: Node, pod: Pod) -> list[tuple[Any, Any]]:
        """The chips that a pod gets on its node."""
        return [(at, self.each(pod)) for at in self.choice(node, self.taken(node), pod)]

    def choice(self, node: Node, cards: Cards, pod: Pod) -> Sequence[int]:
        """The first chips that do; none where too few do."""
        able = (at for at, parts in cards.items() if self.has_room(node, at, parts, self.each(pod)))
        return self.first(self.wish(pod), able)
