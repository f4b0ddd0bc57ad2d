"""Cards of nodes, one after the other: what docs/plugins/deviceshare.md says of shares and of whole cards."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tests.differential.cluster import Node, Pod
from tests.differential.policy import Policy

MEMORY, NUMBER = "volcano.sh/gpu-memory", "volcano.sh/gpu-number"
INDEX, UNHEALTHY = "volcano.sh/gpu-index", "volcano.sh/gpu-unhealthy-ids"

Cards = dict[int, list[int]]
"""Memory of each pod on it, by index."""


def indices(text: str) -> list[int]:
    """Read a list of cards; nothing of it counts where one of them is no number."""
    pieces = text.split(",")
    return [int(piece) for piece in pieces] if all(piece.isdecimal() for piece in pieces) else []


def asked(pod: Pod, name: str) -> int:
    """Read what a pod asks for by its limits."""
    return sum(int(each["resources"].get("limits", {}).get(name, 0)) for each in pod.spec["containers"])


class DeviceShare(Policy):
    """Parts of cards, or whole ones."""

    name = "deviceshare"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.by_memory = bool(self.arguments.get("deviceshare.GPUSharingEnable"))
        self.there = list(self.cluster.placed)
        self.held: dict[str, list[tuple[Any, Any]]] = {}
        """What of which card of their nodes pods have as the cycle begins."""
        for node in self.cluster.nodes:
            if self.is_served(node):
                self.hold(node)
        self.given: dict[tuple[str, str], list[tuple[Any, Any]]] = {}
        """Card and amount of each pod placed in this cycle, in order."""

    def gives(self, pod: Pod) -> bool:
        """Each pod with a request gets some."""
        return bool(self.wish(pod))

    def wish(self, pod: Pod) -> Any:
        """What a pod asks of cards."""
        return asked(pod, MEMORY if self.by_memory else NUMBER)

    def part(self, node: Node) -> int | None:
        """The memory of each card; None where there are none."""
        capacity = node.object["status"]["capacity"]
        number = int(capacity.get(NUMBER, 0))
        return int(capacity[MEMORY]) // number if number and MEMORY in capacity else None

    def is_served(self, node: Node) -> bool:
        """Whether a node has cards that are known."""
        return self.part(node) is not None

    def empty(self, node: Node) -> Any:
        """The healthy cards, before any is allocated."""
        number = int(node.object["status"]["capacity"][NUMBER])
        ill = node.object["metadata"].get("annotations", {}).get(UNHEALTHY, "")
        return {index: [] for index in range(number) if str(index) not in ill.split(",")}

    def taken(self, node: Node) -> Cards:
        """The cards of a node as they are now."""
        cards: Cards = self.empty(node)
        for pod in self.there:
            if pod.node == node.name and pod.status != "Releasing":
                for index, part in self.held.get(pod.key, ()):
                    cards[index].append(part)
        for index, part in self.given_on(node):
            cards[index].append(part)
        return cards

    def hold(self, node: Node) -> None:
        """Give pods the cards that they name, the oldest first, then as many as they ask for and do not name."""
        taken, displaced = self.empty(node), dict[str, list[tuple[Any, Any]]]()
        there = [pod for pod in self.there if pod.node == node.name and pod.status != "Releasing"]
        in_turn = sorted(there, key=lambda pod: (pod.created, pod.key))
        for pod in in_turn:
            named = self.named(node, taken, pod)
            if all(self.has_room(node, device, taken[device], part) for device, part in named):
                self.put(taken, pod, named)
            else:
                displaced[pod.key] = named
        for pod in in_turn:
            before = displaced.get(pod.key, [])
            more = self.unnamed(node, taken, pod, [] if before else self.named(node, taken, pod))
            self.put(taken, pod, before if len(more) < len(before) else more)

    def put(self, taken: dict[Any, list[Any]], pod: Pod, parts: Sequence[tuple[Any, Any]]) -> None:
        """Give a pod parts of cards."""
        for device, part in parts:
            taken[device].append(part)
        self.held.setdefault(pod.key, []).extend(parts)

    def named(self, node: Node, taken: dict[Any, list[Any]], pod: Pod) -> list[tuple[Any, Any]]:  # noqa: ARG002
        """The healthy cards that a pod names, no more than it asks for, and what it takes of each."""
        most = max(asked(pod, NUMBER), int(asked(pod, MEMORY) > 0))
        return [(index, asked(pod, MEMORY)) for index in self.all_named(pod) if index in taken][:most]

    def all_named(self, pod: Pod) -> list[int]:
        """All that a pod names, in its order."""
        return indices(pod.object["metadata"]["annotations"].get(INDEX, ""))

    def has_room(self, node: Node, device: Any, parts: Sequence[Any], part: Any) -> bool:  # noqa: ARG002
        """Whether a card fits a part of its memory, or a pod that needs it alone."""
        return (self.part(node) or 0) - sum(parts) >= part if part else not parts

    def unnamed(
        self, node: Node, taken: dict[Any, list[Any]], pod: Pod, named: Sequence[tuple[Any, Any]]
    ) -> list[tuple[Any, Any]]:
        """The first cards that do, for what a pod asks for beyond those that it names, ill ones included."""
        number = int(node.object["status"]["capacity"][NUMBER])
        ill = {index for index in self.all_named(pod) if index < number and index not in taken}
        lacking = max((1 if self.by_memory else self.wish(pod)) - len(named) - len(ill), 0) if self.wish(pod) else 0
        part = self.wish(pod) if self.by_memory else 0
        able = [index for index, parts in taken.items() if self.has_room(node, index, parts, part)]
        return [(index, asked(pod, MEMORY)) for index in able[:lacking]]

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
        """As many of the first as requested, or none."""
        some = list(found)[:count]
        return some if len(some) == count else []

    def could_permit(self, pod: Pod, node: Node) -> bool:
        """The cards would do, were they all free."""
        return not self.wish(pod) or self.part(node) is None or bool(self.choice(node, self.empty(node), pod))

    def permits(self, pod: Pod, node: Node) -> bool:
        """They do as they are."""
        return not self.wish(pod) or self.part(node) is None or bool(self.choice(node, self.taken(node), pod))
