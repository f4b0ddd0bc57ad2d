"""Pods in operating mode: a tenant can make thousands with many owners, which must not delay the pods of others."""

import json
import random
from typing import Any

import msgspec
import pytest

from pyroclast.cache.files.audit import differences
from pyroclast.cache.state import ClusterState
from pyroclast.cache.stores.reservations.operating_pods import MOST_OWNERS_OF_NAMESPACE
from pyroclast.model import wire
from pyroclast.model.errors import ObjectError
from pyroclast.model.reservations.names import OPERATING_MODE, OPERATING_OWNERS
from pyroclast.model.reservations.owners import OwnerRules
from tests.unit.cache.builders import filled, node, pod, queue


def operating(number: int, owners: list[dict[str, Any]], *, is_on: bool = True) -> wire.Pod:
    """Return a running pod that offers its capacity to owners."""
    made = pod(
        f"operating-{number:04}",
        cpu="1m",
        node="n1",
        phase="Running",
        labels={OPERATING_MODE: "Reservation"} if is_on else {},
        annotations={OPERATING_OWNERS: json.dumps(owners)},
    )
    created = f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z"
    ready = wire.Condition(type="Ready", status="True")
    return msgspec.structs.replace(
        made,
        metadata=msgspec.structs.replace(made.metadata, creation_timestamp=created),
        status=msgspec.structs.replace(made.status, conditions=(ready,)),
    )


def labelled(**labels: str) -> dict[str, Any]:
    """Return an owner by labels."""
    return {"labelSelector": {"matchLabels": labels}}


def cluster(faults: list[ObjectError] | None = None) -> ClusterState:
    """Return a state with one node."""
    report = None if faults is None else faults.append
    return filled(ClusterState(report=report), queue("default"), node(cpu="4", memory="8Gi", pods="5000"))


def offered(state: ClusterState) -> list[str]:
    """Return the names of the pods that offer capacity."""
    return [each.name for each in state.snapshot().reservations.values()]


def test_the_oldest_pods_of_a_namespace_count_up_to_a_bound() -> None:
    """The others are reported; when an older one goes the next one counts, as in a state that is built again."""
    faults: list[ObjectError] = []
    state = cluster(faults)
    pods = [operating(number, [labelled(a=str(number)), labelled(b=str(number))]) for number in range(70)]
    for each in reversed(pods):
        state.apply("Pod", each)
    most = MOST_OWNERS_OF_NAMESPACE // 2
    assert offered(state) == [each.metadata.name for each in pods[:most]]

    state.remove("Pod", pods[0])
    assert offered(state) == [each.metadata.name for each in pods[1 : most + 1]]
    assert differences(state.snapshot(), state.rebuild().snapshot()) == []
    assert not faults  # the oldest came last

    state.apply("Pod", operating(71, [labelled(a="a")]))
    assert ["more than 128 owners" in str(each) for each in faults] == [True]


def test_owners_cost_pods_of_others_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons are counted: those of all waiting pods of the namespace are bounded, others are not compared."""
    calls: list[str] = []
    match = OwnerRules.match

    def counting(rules: OwnerRules, given: wire.Pod) -> bool:
        calls.append(given.metadata.namespace)
        return match(rules, given)

    monkeypatch.setattr(OwnerRules, "match", counting)
    state = cluster()
    for number in range(50):
        state.apply("Pod", pod(f"waits-{number}", cpu="1", labels={"app": "a", "n": str(number)}))
    for version in ("x", "y"):
        for number in range(200):
            owners = [labelled(app=f"{version}-{number}-{owner}") for owner in range(10)]
            state.apply("Pod", operating(number, owners))
        state.snapshot()
    assert calls == []  # no waiting pod has a label that an owner asks for

    for number in range(200):
        state.apply("Pod", operating(number, [labelled(app="a", n=f"{number}-{owner}") for owner in range(10)]))
    state.snapshot()
    assert 0 < len(calls) <= 2 * 50 * MOST_OWNERS_OF_NAMESPACE


def test_found_by_labels_and_names_are_those_that_match_one_by_one() -> None:
    """Any owners: labels, expressions, names, controllers, several of them, or everything."""
    chance, state = random.Random(7), cluster()
    owners: list[dict[str, Any]] = [
        {},
        labelled(app="a"),
        labelled(app="b", tier="x"),
        {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}},
        {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}},
        {"object": {"name": "waits-3"}},
        {"object": {"namespace": "ns"}},
        {"controller": {"name": "set", "kind": "ReplicaSet"}},
        {"controller": {"kind": "Job"}},
    ]
    for number in range(12):
        made = pod(f"waits-{number}", cpu="1", labels={"app": chance.choice("abc"), "tier": chance.choice("xy")})
        reference = wire.OwnerReference(kind=chance.choice(["ReplicaSet", "Job"]), name="set", uid="u", controller=True)
        metadata = msgspec.structs.replace(made.metadata, owner_references=(reference,))
        state.apply("Pod", msgspec.structs.replace(made, metadata=metadata))
    for _ in range(60):
        chosen = [chance.choice(owners) for _ in range(chance.randint(1, 3))]
        state.apply("Pod", operating(chance.randrange(8), chosen, is_on=chance.random() < 0.8))
        snapshot = state.snapshot()
        rules = {task: each.rules.owners for task, each in snapshot.reservations.items()}
        waiting = [task for each in snapshot.orphan_pods if not (task := each.task).pod.spec.node_name]
        assert len(waiting) == 12
        for task in waiting:
            expected = sorted(each for each, owner in rules.items() if owner.match(task.pod))
            assert list(task.template.reservations) == expected
