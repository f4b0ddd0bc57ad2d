"""Families of devices: the interface between a kind of device and the device allocator.

A family reads the cards of a node and the demand of a task, chooses cards, and converts chosen cards to and from
annotations. All methods are functions of values; the device allocator holds the allocated parts.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar, Final, Generic, NamedTuple, TypeVar

from pyroclast.model.devices.cards import Holder, Shelf, State, Use
from pyroclast.model.devices.locks import NodeLock
from pyroclast.model.nodes import Node
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task, TaskTemplate

__all__ = ["ALL_NUMA_NODES", "Chosen", "DeviceQuestion", "Family", "Placed", "Unreadable"]

Cards = TypeVar("Cards")
Demand = TypeVar("Demand")

NOTHING_HIDDEN: frozenset[int] = frozenset()
ALL_NUMA_NODES: Final = -1
"""No restriction to NUMA nodes: another plugin chooses them."""


class DeviceQuestion(NamedTuple, Generic[Demand]):
    """DeviceQuestion of a task about cards. Equal questions about equal cards have equal answers."""

    demand: Demand
    group: str = ""
    """Group whose pods must be on different cards; empty if there is no such group."""
    rules: frozenset[int] = frozenset()
    """Rules of exclusiveness that the task matches."""
    numa_nodes: int | None = None
    """NUMA nodes of the cards that may be used, as a mask, or `ALL_NUMA_NODES`; None if the family aligns by itself."""


class Chosen(NamedTuple):
    """Cards of a node that a task would get."""

    uses: tuple[Use, ...]
    score: float = 0.0


class Placed(NamedTuple):
    """Cards of a node that a task has, when it is bound."""

    node: str
    uses: tuple[Use, ...]
    now: float
    """The moment, seconds since 1970."""
    order: int = 0
    """Number of tasks that have had cards of the node for longer. It tells apart the tasks of one moment."""
    is_pod: bool = True
    """Whether it is a pod; otherwise it stands for a Reservation."""


class Unreadable(NamedTuple):
    """Cards of a node that cannot be read. The node accepts no task that requests cards."""

    message: str


class Family(ABC, Generic[Cards, Demand]):
    """One kind of device. `Cards` are the cards of a node; `Demand` is the demand of a task."""

    name: ClassVar[str]
    """Name as in Volcano."""
    never: ClassVar[tuple[Reason, ...]]
    """Reasons why cards do not suffice even if all are free; by verdict, from 1."""
    now: ClassVar[tuple[Reason, ...]]
    """Reasons why cards do not suffice now; by verdict, from 1."""
    compares_nodes: ClassVar[bool] = False
    """Whether scores are rescaled so that the best node has 100."""

    @property
    def reading(self) -> Hashable:
        """Key of the settings with which cards of nodes are read."""
        return self.name

    @abstractmethod
    def demand(self, template: TaskTemplate, task: Task) -> Demand | None:
        """Return the demand of a template's tasks; None for no demand.

        Raises:
            ValueError: It cannot be read.
        """

    def question(self, demand: Demand, task: Task) -> DeviceQuestion[Demand]:  # noqa: ARG002 - some families ask by the task
        """Return the question of one task."""
        return DeviceQuestion(demand)

    def asks_alone(self, task: Task) -> bool:  # noqa: ARG002 - see above
        """Return whether tasks of one template may differ in their question; equal for all tasks of the template."""
        return False

    def aligned_types(self, demand: Demand) -> tuple[str, ...]:  # noqa: ARG002 - see `question`
        """Return the types of cards that are chosen by NUMA nodes; empty if NUMA nodes do not matter."""
        return ()

    def preferred_cards(self, cards: Cards, uses: tuple[Use, ...]) -> frozenset[int]:  # noqa: ARG002 - see `question`
        """Return the cards of a choice by which choices are compared: those of other NUMA nodes are worse."""
        return frozenset(use.card for use in uses)

    @abstractmethod
    def cards(self, node: Node) -> Cards | None:
        """Return the cards of a node; None if it has none.

        Raises:
            ValueError: They cannot be read.
        """

    @abstractmethod
    def count(self, cards: Cards) -> int:
        """Return the number of cards."""

    def kind(self, cards: Cards, card: int) -> str:  # noqa: ARG002 - see `question`
        """Return the type of a card. Reservations keep cards of some types, and say nothing about others."""
        return ""

    @abstractmethod
    def shape(self, cards: Cards, question: DeviceQuestion[Demand]) -> Hashable:
        """Return the part of a node's cards on which the answer to a question depends."""

    @abstractmethod
    def never_fits(self, cards: Cards, demand: Demand) -> int:
        """Return the verdict of `never`; 0 if the cards may suffice when all are free."""

    @abstractmethod
    def choose(
        self, cards: Cards, taken: State, question: DeviceQuestion[Demand], hidden: frozenset[int]
    ) -> Chosen | int:
        """Return the cards that a task would get, or the verdict of `now`.

        Args:
            cards: Cards of the node.
            taken: Their allocated parts.
            question: DeviceQuestion of the task.
            hidden: Positions of cards that the task must not use.
        """

    def hidden(self, cards: Cards, shelf: Shelf, question: DeviceQuestion[Demand]) -> frozenset[int]:  # noqa: ARG002 - see `question`
        """Return the cards that a task must not use because of the pods that hold parts of them."""
        return NOTHING_HIDDEN

    def refused_by_name(self, demand: Demand, names: Sequence[str]) -> Sequence[int]:  # noqa: ARG002 - see `question`
        """Return the verdicts of nodes with these names, 0 for no refusal; empty if names do not matter."""
        return ()

    @abstractmethod
    def names_cards(self, task: Task) -> bool:
        """Return whether the annotations of a task name cards."""

    @abstractmethod
    def named(self, cards: Cards, task: Task, demand: Demand | None) -> tuple[Use, ...]:
        """Return the cards that a task's annotations name, at most as many as it requests, with the requested amounts.

        Users who can write pods can write these annotations. For a pod without a demand they do not count. For a pod
        whose request cannot be read, which has no demand either, one card of each kind counts.
        """

    @abstractmethod
    def has_room(self, cards: Cards, taken: State, uses: tuple[Use, ...]) -> bool:
        """Return whether the named parts are free in addition to the parts of other tasks."""

    @abstractmethod
    def unnamed(self, cards: Cards, taken: State, task: Task, demand: Demand, uses: tuple[Use, ...]) -> tuple[Use, ...]:
        """Return the rest of a task's demand beyond the named cards, on the first free cards, as far as possible.

        Args:
            cards: Cards of the node.
            taken: Their allocated parts, `uses` included.
            task: The task.
            demand: Its demand.
            uses: The parts that it names.
        """

    @abstractmethod
    def holding(self, task: Task, uses: tuple[Use, ...]) -> Holder:
        """Return the holder for a task that already runs on the node."""

    def held(self, cards: Cards, task: Task, demand: Demand | None) -> Holder | None:
        """Return the cards that a task holds according to its annotations alone."""
        uses = self.named(cards, task, demand)
        return self.holding(task, uses) if uses else None

    def unread(self, cards: Cards, task: Task) -> str:  # noqa: ARG002 - see above
        """Return the fault of a task's annotations about cards of its node; empty if there is none."""
        return ""

    @abstractmethod
    def holder(self, question: DeviceQuestion[Demand], uses: tuple[Use, ...], task: Task) -> Holder:
        """Return the holder for a task that was given cards."""

    @abstractmethod
    def lock(self, cards: Cards) -> NodeLock | None:
        """Return the lock that the device plugin of a node removes; None if nodes with these cards are not locked."""

    @abstractmethod
    def locks(self, demand: Demand) -> bool:
        """Return whether a node is locked for a pod."""

    @abstractmethod
    def annotations(self, cards: Cards, demand: Demand, placed: Placed) -> Mapping[str, str]:
        """Return the annotations of a task's binding about its cards."""

    def labels(self, cards: Cards, demand: Demand, placed: Placed) -> Mapping[str, str]:  # noqa: ARG002 - see above
        """Return the labels that a pod gets before it is bound, about its cards."""
        return {}
