"""The judge: in which ways the outcome of a situation differs from the one that a user expects.

Fields of `expect`, all optional. Names without a namespace are in `t`.

| field | holds when |
|---|---|
| `bound` | these pods have a node at the end: a list, or pod → node or list of nodes |
| `waiting` | these pods have no node at the end |
| `boundAny` | at least so many of the pods of `bound` and `waiting` have a node |
| `evicted` | exactly these pods were evicted over all rounds |
| `evictedCount` | so many evictions over all rounds |
| `neverEvicted` | none of these pods was evicted |
| `boundCount` | group → number, or least and most, of its pods with a node |
| `evictedOf` | group → number of its pods that were evicted |
| `together` | group → sets of nodes; all pods of the group are inside one of them |
| `spread` | the pods of each of these groups share no node |
| `reason` | group → text, or texts, that the refusals of the group or of its pods contain |

Always: the last round evicts no pod.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GROUP = "scheduling.k8s.io/group-name"
NAMESPACE = "t"
KNOWN_FIELDS = frozenset(
    {
        "bound",
        "boundAny",
        "boundCount",
        "evicted",
        "evictedCount",
        "evictedOf",
        "neverEvicted",
        "reason",
        "spread",
        "together",
        "waiting",
    }
)


def differences(case: Mapping[str, Any], answered: Mapping[str, Any]) -> list[str]:
    """Return the differences of an answer from what is expected; none where all is as expected."""
    if "error" in answered:
        return [f"error: {answered['error']}"]
    return list(_differences(case["expect"], outcome_of(case, answered["rounds"])))


@dataclass(frozen=True)
class Outcome:
    """Where the pods are after all rounds, and what happened on the way."""

    nodes_by_pod: Mapping[str, str]
    groups_by_pod: Mapping[str, str]
    evictions: Sequence[str]
    last_evictions: Sequence[str]
    messages_by_group: Mapping[str, str]

    def bound_of(self, group: str) -> list[str]:
        """Return the nodes of a group's pods."""
        return [node for pod, node in self.nodes_by_pod.items() if self.groups_by_pod[pod] == group]


def outcome_of(case: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]]) -> Outcome:
    """Play the rounds on the pods of a case."""
    pods = {_key(pod): pod for pod in case["objects"].get("pods", ())}
    groups = {key: (pod["metadata"].get("annotations") or {}).get(GROUP, "") for key, pod in pods.items()}
    nodes = {key: pod["spec"]["nodeName"] for key, pod in pods.items() if pod["spec"].get("nodeName")}
    evictions: list[str] = []
    for each in rounds:
        evictions += each["evictions"]
        nodes = {key: node for key, node in nodes.items() if key not in each["evictions"]} | each["binds"]
    last = rounds[-1]
    return Outcome(
        nodes_by_pod=nodes,
        groups_by_pod=groups,
        evictions=evictions,
        last_evictions=last["evictions"],
        messages_by_group={
            group: _messages(group, groups, last)
            for group in {
                *groups.values(),
                *(each["metadata"]["name"] for each in case["objects"].get("podGroups", ())),
            }
        },
    )


def _messages(group: str, groups_by_pod: Mapping[str, str], last: Mapping[str, Any]) -> str:
    of_group = last.get("refusals", {}).get(_qualified(group), ())
    of_pods = (
        refusal
        for pod, refusals in last.get("podRefusals", {}).items()
        if groups_by_pod.get(pod) == group
        for refusal in refusals
    )
    return " | ".join(refusal.get("message", "") for refusal in (*of_group, *of_pods))


def _differences(expect: Mapping[str, Any], outcome: Outcome) -> Iterator[str]:
    if outcome.last_evictions:
        yield f"the last round evicts {', '.join(outcome.last_evictions)}"
    yield from _unlike_places(expect, outcome)
    yield from _unlike_evictions(expect, outcome)
    yield from _unlike_groups(expect, outcome)
    for group, texts in expect.get("reason", {}).items():
        message = outcome.messages_by_group.get(group, "")
        for text in [texts] if isinstance(texts, str) else texts:
            if text not in message:
                yield f"the reason of {group} lacks {text!r}: {message or 'no reason'}"


def _unlike_places(expect: Mapping[str, Any], outcome: Outcome) -> Iterator[str]:
    bound, waiting = expect.get("bound", ()), [_qualified(pod) for pod in expect.get("waiting", ())]
    if "boundAny" in expect:
        named = [*map(_qualified, bound), *waiting]
        found = [pod for pod in named if pod in outcome.nodes_by_pod]
        if len(found) < expect["boundAny"]:
            yield f"bound: expected {expect['boundAny']} of {', '.join(named)}, got {len(found)}"
        return
    for pod in bound:
        node, allowed = outcome.nodes_by_pod.get(_qualified(pod)), _allowed_nodes(bound, pod)
        if node is None:
            yield f"{pod} is not bound"
        elif allowed and node not in allowed:
            yield f"{pod} is on {node}, expected {' or '.join(allowed)}"
    for pod in waiting:
        if pod in outcome.nodes_by_pod:
            yield f"{pod} is on {outcome.nodes_by_pod[pod]}, expected to wait"


def _allowed_nodes(bound: Sequence[str] | Mapping[str, Any], pod: str) -> list[str]:
    nodes = bound[pod] if isinstance(bound, Mapping) else []
    return [nodes] if isinstance(nodes, str) else list(nodes)


def _unlike_evictions(expect: Mapping[str, Any], outcome: Outcome) -> Iterator[str]:
    got = sorted(outcome.evictions)
    if "evicted" in expect and got != sorted(map(_qualified, expect["evicted"])):
        yield f"evicted: expected {expect['evicted']}, got {got}"
    if "evictedCount" in expect and len(got) != expect["evictedCount"]:
        yield f"evicted: expected {expect['evictedCount']} pods, got {got}"
    for pod in map(_qualified, expect.get("neverEvicted", ())):
        if pod in got:
            yield f"{pod} was evicted"
    for group, number in expect.get("evictedOf", {}).items():
        of_group = [pod for pod in got if outcome.groups_by_pod[pod] == group]
        if len(of_group) != number:
            yield f"evicted of {group}: expected {number}, got {of_group}"


def _unlike_groups(expect: Mapping[str, Any], outcome: Outcome) -> Iterator[str]:
    for group, number in expect.get("boundCount", {}).items():
        least, most = (number, number) if isinstance(number, int) else number
        if not least <= len(outcome.bound_of(group)) <= most:
            yield f"{group}: expected {number} bound, got {len(outcome.bound_of(group))}"
    for group, allowed in expect.get("together", {}).items():
        nodes = set(outcome.bound_of(group))
        if not any(nodes <= set(each) for each in allowed):
            yield f"{group} is on {sorted(nodes)}, expected inside one of {allowed}"
    for group in expect.get("spread", ()):
        places = outcome.bound_of(group)
        if len(set(places)) != len(places):
            yield f"{group} shares nodes: {sorted(places)}"


def _qualified(name: str) -> str:
    return name if "/" in name else f"{NAMESPACE}/{name}"


def _key(each: Mapping[str, Any]) -> str:
    metadata = each["metadata"]
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"
