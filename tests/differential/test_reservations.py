"""The product and a plain computation use Reservations alike, pod by pod, on clusters by chance.

The plain computation is written from the specification of Koordinator's Reservations: what fits, which Reservation of a
node is used, and which node is best. It shares no code with the product.
"""

import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.testing import Scenario
from tests.drawing import examples
from tests.reservations import ALLOCATED, affinity, outcome_of, reservation

GIB = 2**30
NODES = ("n1", "n2", "n3")
APPS = st.sampled_from(["a", "b"])
RESERVATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "node": st.sampled_from(NODES),
            "cpu": st.integers(1, 4),
            "memory": st.integers(0, 3),
            "app": APPS,
            "order": st.sampled_from([0, 0, 1, 2]),
            "allocateOnce": st.booleans(),
            "allocatePolicy": st.sampled_from(["Aligned", "Restricted"]),
            "unschedulable": st.sampled_from([False, False, False, True]),
        }
    ),
    max_size=6,
)
PODS = st.lists(
    st.fixed_dictionaries(
        {"cpu": st.integers(1, 4), "memory": st.integers(0, 3), "app": APPS, "must": st.sampled_from([False, True])}
    ),
    min_size=1,
    max_size=8,
)


@dataclass
class Room:
    """One Reservation."""

    name: str
    node: str
    rules: dict[str, Any]
    rest: dict[str, int]
    users: int = 0

    def reserved(self) -> dict[str, int]:
        """Amounts that it reserves."""
        return {name: self.rules[name] for name in ("cpu", "memory") if self.rules[name]}

    def is_usable_by(self, pod: dict[str, Any]) -> bool:
        """Whether a pod may use it, whatever is left."""
        if self.rules["app"] != pod["app"] or self.rules["unschedulable"]:
            return False
        if self.rules["allocateOnce"] and self.users:
            return False
        return pod["must"] or any(pod[name] for name in self.reserved())

    def score(self, pod: dict[str, Any]) -> Fraction:
        """How full it would be, in percent: the mean over its resources."""
        shares = []
        for name, amount in self.reserved().items():
            after = amount - self.rest[name] + pod[name]
            shares.append(Fraction(100 * after, amount) if after <= amount else Fraction(0))
        return sum(shares, Fraction(0)) / len(shares)


@dataclass
class Plain:
    """Nodes of ten CPUs and ten GiB, with what is free and not reserved."""

    rooms: list[Room]
    free: dict[str, dict[str, int]] = field(default_factory=lambda: {node: {"cpu": 10, "memory": 10} for node in NODES})

    def nominee(self, pod: dict[str, Any], node: str) -> Room | None:
        """The Reservation of a node that a pod would use."""
        passing = [room for room in self.rooms if room.node == node and room.is_usable_by(pod) and self.fits(pod, room)]
        ordered = [room for room in passing if room.rules["order"]]
        if len(passing) > 1 and ordered:
            return min(ordered, key=lambda room: (room.rules["order"], room.name))
        return min(passing, key=lambda room: (-room.score(pod), room.name), default=None)

    def fits(self, pod: dict[str, Any], room: Room) -> bool:
        """Whether a pod fits a Reservation, and the node with it."""
        for name in ("cpu", "memory"):
            rest = room.rest.get(name, 0)
            if pod[name] > self.free[room.node][name] + rest:
                return False
            if room.rules["allocatePolicy"] == "Restricted" and name in room.reserved() and pod[name] > rest:
                return False
        return True

    def choose(self, pod: dict[str, Any]) -> tuple[str, Room | None] | None:
        """The best node: the lowest order, then the fullest Reservation, then the name."""
        found: list[tuple[int, Fraction, str, Room | None]] = []
        orders = sorted({room.rules["order"] for room in self.rooms} - {0})
        for node in NODES:
            room = self.nominee(pod, node)
            if room is None and (pod["must"] or any(pod[name] > self.free[node][name] for name in ("cpu", "memory"))):
                continue
            order = 0 if room is None else room.rules["order"]
            rank = len(orders) - orders.index(order) if order else 0
            score = Fraction(0) if room is None or rank else room.score(pod)
            found.append((-rank, -score, node, room))
        if not found:
            return None
        if found and min(each[0] for each in found) < 0:  # the lowest order has the best score; ties go by name
            best = min(found, key=lambda each: (each[0], each[2]))
        else:
            best = min(found, key=lambda each: (each[1], each[2]))
        return best[2], best[3]

    def place(self, pod: dict[str, Any]) -> tuple[str, str] | None:
        """Place a pod. Return its node and its Reservation."""
        choice = self.choose(pod)
        if choice is None:
            return None
        node, room = choice
        for name in ("cpu", "memory"):
            used = min(pod[name], room.rest.get(name, 0)) if room else 0
            if room and name in room.rest:
                room.rest[name] -= used
            self.free[node][name] -= pod[name] - used
        if room:
            room.users += 1
        return node, room.name if room else ""


def plainly(reservations: list[Any], pods: list[Any]) -> dict[str, tuple[str, str]]:
    """Decide as the rules are written."""
    plain = Plain([])
    for number, each in enumerate(reservations):
        room = Room(f"r{number}", each["node"], each, {})
        room.rest = room.reserved()
        plain.rooms.append(room)
        for name, amount in room.rest.items():
            plain.free[each["node"]][name] -= amount
    found = {f"j{number}-0": plain.place(pod) for number, pod in enumerate(pods)}
    return {name: place for name, place in found.items() if place is not None}


def by_the_product(reservations: list[Any], pods: list[Any]) -> dict[str, tuple[str, str]]:
    """Decide as the product does."""
    scenario = Scenario().queue("default")
    for node in NODES:
        scenario = scenario.node(node, cpu=10, memory=f"{10 * GIB}")
    for number, each in enumerate(reservations):
        amounts = {"memory": f"{each['memory']}Gi"} if each["memory"] else {}
        rules = {name: each[name] for name in ("node", "cpu", "allocateOnce", "allocatePolicy", "unschedulable")}
        owners = [{"labelSelector": {"matchLabels": {"app": each["app"]}}}]
        labels = {"scheduling.koordinator.sh/reservation-order": str(each["order"])}
        scenario = scenario.add(reservation(f"r{number}", resources=amounts, owners=owners, labels=labels, **rules))
    for number, pod in enumerate(pods):
        scenario = scenario.job(
            f"j{number}",
            cpu=pod["cpu"],
            memory=f"{pod['memory']}Gi" if pod["memory"] else None,
            labels={"app": pod["app"]},
            annotations=affinity() if pod["must"] else {},
        )
    outcome = outcome_of(scenario)
    assert outcome.failed_plugins == []
    return {
        bind.name: (bind.node, json.loads(bind.annotations.get(ALLOCATED, '{"name": ""}'))["name"])
        for plan in outcome.report.plans
        for bind in plan.binds
    }


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(reservations=RESERVATIONS, pods=PODS)
def test_same_nodes_and_reservations(reservations: list[Any], pods: list[Any]) -> None:
    """Owners, policies, orders and required use: each pod gets the same node and the same Reservation."""
    held = {node: [0, 0] for node in NODES}
    sound = []
    for each in reservations:  # as many as the nodes can keep
        cpu, memory = held[each["node"]]
        if cpu + each["cpu"] <= 10 and memory + each["memory"] <= 10:
            held[each["node"]] = [cpu + each["cpu"], memory + each["memory"]]
            sound.append(each)

    assert by_the_product(sound, pods) == plainly(sound, pods)
