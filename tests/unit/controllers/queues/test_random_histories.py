"""Lives of trees of queues: in any order of reconciliations, killed between any writes, the end is the same."""

import random
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from pyroclast.controllers.queues.decide import Situation, decide
from pyroclast.model.api import names
from pyroclast.model.api.meta import ObjectMeta
from pyroclast.model.api.scheduling import Queue, QueueStatus

NAMES = ("a", "b", "c", "d")

Step = tuple[str, str, str]
"""What happens, to which queue, and with what."""


@dataclass
class Tree:
    """What the server has: four queues below the root, which may be each other's parents."""

    parents: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NAMES, "root"))
    states: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NAMES, ""))
    notes: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NAMES, ""))
    gangs: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))
    commands: dict[str, str] = field(default_factory=dict)

    def queue(self, name: str) -> Queue:
        """A queue as it is read."""
        if name == "root":
            return Queue(metadata=ObjectMeta(name=name), status=QueueStatus(state="Open"))
        annotations = {names.CLOSED_BY_PARENT: self.notes[name]} if self.notes[name] else {}
        return Queue(
            metadata=ObjectMeta(name=name, annotations=annotations), status=QueueStatus(state=self.states[name])
        )

    def happen(self, step: Step) -> None:
        """Something happens to a queue."""
        what, name, other = step
        if what == "command":
            self.commands[name] = other
        elif what == "gang":
            self.gangs[name] = 1 - self.gangs[name]
        elif what == "move" and not self.is_below(other, name):
            self.parents[name] = other

    def is_below(self, name: str, other: str) -> bool:
        """Whether a queue is another or somewhere below it."""
        while name != "root":
            if name == other:
                return True
            name = self.parents[name]
        return False

    def look(self, name: str, writes: int = 3) -> bool:
        """Reconcile a queue, dying after so many writes; return whether anything was written."""
        decision = decide(
            Situation(
                queue=self.queue(name),
                parent=self.queue(self.parents[name]),
                gangs=self.gangs[name],
                action=self.commands.get(name, ""),
            )
        )

        def annotate() -> bool:
            changed = self.notes[name] != decision.closed_by_parent
            self.notes[name] = decision.closed_by_parent
            return changed

        def write_state() -> bool:
            changed = self.states[name] != decision.state
            self.states[name] = decision.state
            return changed

        def take_command() -> bool:
            return decision.takes_command and self.commands.pop(name, None) is not None

        order = (annotate, write_state) if decision.annotates_first else (write_state, annotate)
        made = 0
        for write in (*order, take_command):
            if made >= writes:
                break
            made += write()
        return made > 0

    def rest(self, chance: random.Random | None) -> None:
        """Look until there is nothing to do; with chance, in any order, and dying now and then."""
        for _ in range(300):
            order = list(NAMES)
            if chance is not None:
                chance.shuffle(order)
            if not sum(self.look(name, chance.randint(1, 3) if chance else 3) for name in order):
                return
        raise AssertionError(f"no rest: {self}")


steps = st.lists(
    st.one_of(
        st.tuples(st.just("command"), st.sampled_from(NAMES), st.sampled_from(["OpenQueue", "CloseQueue"])),
        st.tuples(st.just("gang"), st.sampled_from(NAMES), st.just("")),
        st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(["root", *NAMES])),
    ),
    max_size=12,
)


@settings(max_examples=300)
@given(steps, st.integers(0, 2**32))
def test_every_life_ends_the_same(life: list[Step], seed: int) -> None:
    """After each step the tree comes to rest in the same state, whichever reconciliation was killed."""
    calm, troubled = Tree(), Tree()
    chance = random.Random(seed)
    for step in life:
        for tree, luck in ((calm, None), (troubled, chance)):
            tree.happen(step)
            tree.rest(luck)
        assert troubled == calm

        for name in NAMES:
            parent = calm.parents[name]
            is_shut = calm.states[name] in {"Closing", "Closed"}
            assert is_shut or parent == "root" or calm.states[parent] == "Open", "nothing is open below what is shut"
            assert calm.notes[name] != "true" or is_shut, "what is noted as closed is closed"
            assert calm.states[name] != "Closing" or calm.gangs[name], "nothing closes without gangs"
