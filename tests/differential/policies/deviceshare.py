"""Cards of nodes, one after the other: what docs/plugins/deviceshare.md says of shares and of whole cards."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from tests.differential.cluster import Node, Pod
from tests.differential.policy import Policy

MEMORY, NUMBER = "volcano.sh/gpu-memory", "volcano.sh/gpu-number"
INDEX, UNHEALTHY = "volcano.sh/gpu-index", "volcano.sh/gpu-unhealthy-ids"

Cards = dict[int, list[int]]
"""By index: what each pod on it takes of its memory."""


def indices(text: str) -> list[int]:
    """Read a list of cards; nothing of it counts where one of them is no number."""
    pieces = text.split(",")
    return [int(piece) for piece in pieces] if all(piece.isdecimal() for piece in pieces) else []


def asked(pod: Pod, name: str) -> int:
    """Read what a pod asks for by its limits."""
    return sum(int(each["resources"].get("limits", {}).get(name, 0)) for each in pod.spec["containers"])


class DeviceShare(Policy):
    """Parts of cards, or whole ones."""

    name: ClassVar[str] = "deviceshare"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.by_memory = bool(self.arguments.get("deviceshare.GPUSharingEnable"))
        self.there = list(self.cluster.placed)
        self.had_nodes = {pod.key for pod in self.cluster.pods if pod.node}
        self.placed: list[tuple[str, str]] = []
        """Pods placed in this cycle and their nodes, in the order in which that was seen."""

    def wish(self, pod: Pod) -> Any:
        """What a pod asks of cards."""
        return asked(pod, MEMORY if self.by_memory else NUMBER)

    def part(self, node: Node) -> int | None:
        """The memory of each card; None where there are none."""
        capacity = node.object["status"]["capacity"]
        number = int(capacity.get(NUMBER, 0))
        return int(capacity[MEMORY]) // number if number and MEMORY in capacity else None

    def empty(self, node: Node) -> Cards:
        """The healthy cards, before anybody has any."""
        number = int(node.object["status"]["capacity"][NUMBER])
        ill = node.object["metadata"].get("annotations", {}).get(UNHEALTHY, "")
        return {index: [] for index in range(number) if str(index) not in ill.split(",")}

    def taken(self, node: Node) -> Cards:
        """The cards of a node as they are now."""
        cards = self.empty(node)
        for pod in self.there:
            if pod.node == node.name and pod.status != "Releasing" and (asked(pod, MEMORY) or asked(pod, NUMBER)):
                for index in indices(pod.object["metadata"]["annotations"].get(INDEX, "")):
                    if index in cards:
                        cards[index].append(asked(pod, MEMORY))
        for pod in self.placed_on(node):
            for index in self.choice(node, cards, pod):
                cards[index].append(asked(pod, MEMORY))
        return cards

    def placed_on(self, node: Node) -> list[Pod]:
        """Pods with wishes that were placed on a node in this cycle, in the order in which that was seen."""
        now = {pod.key: pod for pod in self.cluster.pods if pod.node and pod.key not in self.had_nodes}
        kept = [(key, place) for key, place in self.placed if key in now and now[key].node == place]
        self.placed = kept + [(key, pod.node) for key, pod in now.items() if (key, pod.node) not in kept]
        return [now[key] for key, place in self.placed if place == node.name and self.wish(now[key])]

    def choice(self, node: Node, cards: Cards, pod: Pod) -> Sequence[int]:
        """The first cards that do; none where too few do."""
        if self.by_memory:
            part = self.part(node) or 0
            return self.first(1, (at for at, parts in cards.items() if part - sum(parts) >= self.wish(pod)))
        return self.first(self.wish(pod), (at for at, parts in cards.items() if not parts))

    def first(self, count: int, found: Iterable[int]) -> Sequence[int]:
        """As many of the first as are wanted, or none."""
        some = list(found)[:count]
        return some if len(some) == count else []

    def could_permit(self, pod: Pod, node: Node) -> bool:
        """The cards would do, were they all free."""
        return not self.wish(pod) or self.part(node) is None or bool(self.choice(node, self.empty(node), pod))

    def permits(self, pod: Pod, node: Node) -> bool:
        """They do as they are."""
        return not self.wish(pod) or self.part(node) is None or bool(self.choice(node, self.taken(node), pod))
