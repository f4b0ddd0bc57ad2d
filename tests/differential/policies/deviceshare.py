"""Cards of nodes, one after the other: what docs/plugins/deviceshare.md says of shares and of whole cards."""

from collections.abc import Iterable, Iterator, Sequence
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
        self.given: dict[tuple[str, str], list[tuple[Any, Any]]] = {}
        """By pods placed in this cycle and their nodes, in their order: what of which card."""

    def gives(self, pod: Pod) -> bool:
        """Whoever wants some gets some."""
        return bool(self.wish(pod))

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
        for index, part in self.given_on(node):
            cards[index].append(part)
        return cards

    def was_placed(self, pod: Pod, node: Node) -> None:
        """Give a pod its cards; it keeps them as long as it stays."""
        self.given.pop((pod.key, node.name), None)
        if self.wish(pod):
            self.given[pod.key, node.name] = self.gets(node, pod)

    def given_on(self, node: Node) -> Iterator[tuple[Any, Any]]:
        """What pods that were placed on a node in this cycle have there."""
        place = {pod.key: pod.node for pod in self.cluster.pods}
        for (key, name), given in self.given.items():
            if name == node.name == place[key]:
                yield from given

    def gets(self, node: Node, pod: Pod) -> list[tuple[Any, Any]]:
        """The cards that a pod gets on its node."""
        if self.part(node) is None:
            return []
        return [(index, asked(pod, MEMORY)) for index in self.choice(node, self.taken(node), pod)]

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
