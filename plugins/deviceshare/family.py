"""Families of devices: what each of them tells the books.

A family says which cards a node has, what a task asks of cards, which cards it would be given, and how annotations tell
of those that a pod has. Everything here is a function of values; what is taken of cards stands in the books.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import ClassVar, Generic, NamedTuple, TypeVar

from pyroclast.model.devices.cards import Holder, Shelf, State, Use
from pyroclast.model.nodes import Node
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task, TaskTemplate

__all__ = ["Chosen", "DeviceQuestion", "Family", "Unreadable"]

Cards = TypeVar("Cards")
Demand = TypeVar("Demand")

NOTHING_HIDDEN: frozenset[int] = frozenset()


class DeviceQuestion(NamedTuple, Generic[Demand]):
    """What a task asks of cards; equal questions about equal cards have equal answers."""

    demand: Demand
    group: str = ""
    """The group whose pods must be on different cards; empty where they need not."""
    rules: frozenset[int] = frozenset()
    """The rules of exclusiveness that it matches."""


class Chosen(NamedTuple):
    """The cards that a task would be given on a node."""

    uses: tuple[Use, ...]
    score: float = 0.0


class Unreadable(NamedTuple):
    """The cards of a node that cannot be read: it takes no task that asks for some."""

    message: str


class Family(ABC, Generic[Cards, Demand]):
    """One kind of device; C stands for the cards of a node, D for what a task asks for."""

    name: ClassVar[str]
    """As Volcano registers it."""
    lock: ClassVar[str]
    """The annotation that locks a node."""
    never: ClassVar[tuple[Reason, ...]]
    """Why cards could not be given, were they all free; by verdict, from 1."""
    now: ClassVar[tuple[Reason, ...]]
    """Why cards cannot be given as things are; by verdict, from 1."""
    compares_nodes: ClassVar[bool] = False
    """Whether scores are rescaled so that the best node has 100."""

    @property
    def reading(self) -> Hashable:
        """What cards of nodes are read by."""
        return self.name

    @abstractmethod
    def demand(self, template: TaskTemplate, task: Task) -> Demand | None:
        """Return what tasks of a template ask for; None for nothing. Raises ValueError where that cannot be read."""

    def question(self, demand: Demand, task: Task) -> DeviceQuestion[Demand]:  # noqa: ARG002 - some families ask by the task
        """Return what one task asks."""
        return DeviceQuestion(demand)

    def asks_alone(self, task: Task) -> bool:  # noqa: ARG002 - see above
        """Tell whether tasks of one template may ask differently; the same for all of a template."""
        return False

    @abstractmethod
    def cards(self, node: Node) -> Cards | None:
        """Return the cards of a node; None where it has none. Raises ValueError where they cannot be read."""

    @abstractmethod
    def count(self, cards: Cards) -> int:
        """Return how many cards a node has."""

    @abstractmethod
    def shape(self, cards: Cards, question: DeviceQuestion[Demand]) -> Hashable:
        """Return what of the cards of a node the answer to a question depends on."""

    @abstractmethod
    def never_fits(self, cards: Cards, demand: Demand) -> int:
        """Return which of `never` holds; 0 where the cards might be enough, were they all free."""

    @abstractmethod
    def choose(
        self, cards: Cards, taken: State, question: DeviceQuestion[Demand], hidden: frozenset[int]
    ) -> Chosen | int:
        """Return the cards that a task would be given, or which of `now` holds.

        Args:
            cards: Of the node.
            taken: What of them is taken.
            question: What the task asks.
            hidden: Cards that it must not have, by position.
        """

    def hidden(self, cards: Cards, shelf: Shelf, question: DeviceQuestion[Demand]) -> frozenset[int]:  # noqa: ARG002 - see `question`
        """Return the cards that a task must not have because of who holds parts of them."""
        return NOTHING_HIDDEN

    @abstractmethod
    def names_cards(self, task: Task) -> bool:
        """Return whether the annotations of a task name cards."""

    @abstractmethod
    def named(self, cards: Cards, task: Task, demand: Demand | None) -> tuple[Use, ...]:
        """Return the cards of its node that a task names by its annotations, at most what it asks for.

        Anyone who may write pods may write these annotations. Of a pod that asks for nothing they count for nothing; of
        one whose request cannot be read, which has no demand either, one card of each kind counts.
        """

    @abstractmethod
    def has_room(self, cards: Cards, taken: State, uses: tuple[Use, ...]) -> bool:
        """Return whether cards have room for what a task names of them, beside what others name."""

    @abstractmethod
    def unnamed(self, cards: Cards, taken: State, task: Task, demand: Demand, uses: tuple[Use, ...]) -> tuple[Use, ...]:
        """Return what a task asks for beyond the cards that it names, on the first that have room: as many as have.

        Args:
            cards: Of the node.
            taken: What of them is taken, `uses` included.
            task: The task.
            demand: What it asks for.
            uses: What it names.
        """

    @abstractmethod
    def holding(self, task: Task, uses: tuple[Use, ...]) -> Holder:
        """Return a task on a node as the holder of cards."""

    def held(self, cards: Cards, task: Task, demand: Demand | None) -> Holder | None:
        """Return what a task holds of the cards of its node by its annotations alone."""
        uses = self.named(cards, task, demand)
        return self.holding(task, uses) if uses else None

    def unread(self, cards: Cards, task: Task) -> str:  # noqa: ARG002 - see above
        """Say what of the annotations of a task on a node tells of no card of it; empty where nothing does."""
        return ""

    @abstractmethod
    def holder(self, question: DeviceQuestion[Demand], uses: tuple[Use, ...], task: Task) -> Holder:
        """Return what a task holds that was given cards."""

    @abstractmethod
    def locks(self, demand: Demand) -> bool:
        """Tell whether a node is locked for a task."""

    @abstractmethod
    def annotations(self, cards: Cards, node: str, uses: tuple[Use, ...], now: float) -> Mapping[str, str]:
        """Return what the binding of a task tells of its cards; `now` is the moment, seconds since 1970."""
