"""Invariants: what must hold of every outcome, whatever the reference did."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.conformance.room import offered_by, request_of

GROUP = "scheduling.k8s.io/group-name"
QUIET_FROM = 4
"""With so many rounds the last one evicts nothing."""

Round = Mapping[str, Any]


def broken_invariants(case: Mapping[str, Any], rounds: Sequence[Round]) -> Iterator[str]:
    """Say, by round, what of an outcome breaks a law."""
    cluster = _Cluster(case)
    for number, each in enumerate(rounds, start=1):
        following = rounds[number] if number < len(rounds) else None
        for fault in cluster.play(each, following):
            yield f"round {number}: {fault}"
    evicted = Counter(pod for each in rounds for pod in each["evictions"])
    yield from (f"{pod} is evicted {times} times" for pod, times in sorted(evicted.items()) if times > 1)
    if len(rounds) >= QUIET_FROM and rounds[-1]["evictions"]:
        yield f"the last of {len(rounds)} rounds still evicts {', '.join(rounds[-1]['evictions'])}"


class _Cluster:
    """Which pod is where, from round to round."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        objects = case["objects"]
        self.pods = {_key(pod): pod for pod in objects.get("pods", ())}
        self.offered = {node["metadata"]["name"]: offered_by(node) for node in objects.get("nodes", ())}
        self.min_members = {
            _key(group): group.get("spec", {}).get("minMember", 0) for group in objects.get("podGroups", ())
        }
        self.places = {
            key: pod["spec"]["nodeName"]
            for key, pod in self.pods.items()
            if pod.get("spec", {}).get("nodeName") and not _has_finished(pod)
        }
        self.succeeded = {key for key, pod in self.pods.items() if pod.get("status", {}).get("phase") == "Succeeded"}
        self.shuffles = "shuffle" in case["config"]["actions"]
        self.recreates = case.get("recreateEvicted", False)

    def play(self, each: Round, following: Round | None) -> Iterator[str]:
        """Carry a round out and say what is wrong with it."""
        # pods of Reservations hold capacity that their owners use
        binds = {pod: node for pod, node in each["binds"].items() if pod in self.pods}
        for pod, node in binds.items():
            if pod in self.places:
                yield f"{pod} is bound though it is on {self.places[pod]} already"
            self.places[pod] = node
        yield from self._overfull(binds)
        victims = set(each["evictions"])
        self.places = {pod: node for pod, node in self.places.items() if pod not in victims}
        yield from self._small_gangs({*binds, *victims})
        if not self.shuffles:
            yield from self._unserved(each, following)

    def _overfull(self, binds: Mapping[str, str]) -> Iterator[str]:
        """A node can be over an amount that it lost, but no pod that needs the amount is bound to it then."""
        for node in sorted(set(binds.values())):
            needed = {name for pod, place in binds.items() if place == node for name in request_of(self.pods[pod])}
            used: Counter[str] = Counter()
            for pod, place in self.places.items():
                if place == node:
                    used.update(request_of(self.pods[pod]))
            for name, amount in used.items():
                if name in needed and amount > self.offered[node][name]:
                    yield f"node {node} is over its {name}: {float(amount):g} of {float(self.offered[node][name]):g}"

    def _small_gangs(self, touched: set[str]) -> Iterator[str]:
        for group in sorted({self._group(pod) for pod in touched} - {""}):
            members = [pod for pod in (*self.places, *self.succeeded) if self._group(pod) == group and self._stays(pod)]
            if members and len(members) < self.min_members.get(group, 0):
                yield f"gang {group} is left with {len(members)} of {self.min_members[group]}"

    def _stays(self, pod: str) -> bool:
        """A deleted pod uses capacity until it is gone, and is no member of its gang any more."""
        return not self.pods[pod]["metadata"].get("deletionTimestamp")

    def _group(self, pod: str) -> str:
        metadata = self.pods[pod]["metadata"]
        name = (metadata.get("annotations") or {}).get(GROUP, "")
        return f"{metadata.get('namespace', 'default')}/{name}" if name else ""

    def _unserved(self, each: Round, following: Round | None) -> Iterator[str]:
        for victim in each["evictions"]:
            served = [pod for pod in each["beneficiaries"].get(victim, ()) if pod in _placed(each)]
            if not served:
                yield f"{victim} is evicted for nobody"
            elif following is not None and not {*each["binds"], *_placed(following)}.intersection(served):
                yield f"{victim} is evicted for {', '.join(served)}, placed nowhere in the next round"


def _placed(each: Round) -> set[str]:
    return {*each["binds"], *(pod for places in each["pipelined"].values() for pod in places)}


def _has_finished(pod: Mapping[str, Any]) -> bool:
    return pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}


def _key(each: Mapping[str, Any]) -> str:
    metadata = each["metadata"]
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"
