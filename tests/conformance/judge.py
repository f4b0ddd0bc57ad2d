"""The judge: whether an answer agrees with a decision table.

Upstream cases: what their test asserts. Generated cases: the one outcome that was seen, exactly; where several were
seen (ties, map order), the signature of one of them: how many were bound and evicted by group, and the phases, cycle by
cycle. Cases whose outcome is suspect, or whose input no API server would take, are judged by the invariants alone;
those that stop the reference must be answered, if need be by a refusal of the configuration that names the fault.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pyroclast.scheduler.data import default_configuration
from pyroclast.scheduler.simulation.batch import answer_lines
from tests.conformance.cases import Table, registry
from tests.conformance.invariants import broken_invariants

EXACT_FIELDS = ("binds", "evictions", "pipelined", "phases")
GROUP = "scheduling.k8s.io/group-name"


def answer(table: Table) -> dict[str, Any]:
    """Return what the batch mode says of a case."""
    text = default_configuration().read_text(encoding="utf-8")
    (line,) = answer_lines([msgspec.json.encode(table.raw)], registry(), default_config=text)
    decoded: dict[str, Any] = msgspec.json.decode(line)
    return decoded


def differences(table: Table, answered: Mapping[str, Any]) -> list[str]:
    """Say in which ways an answer disagrees with its table; invariants apart."""
    if "error" in answered:
        if table.raw.get("reference") and answered["error"]["kind"] == "config":
            return []
        return [f"error: {answered['error']['message']}"]
    if table.is_upstream:
        return list(_unmet(table.raw, answered["rounds"][0]))
    if "suspect" in table.raw or "invalid" in table.raw or "reference" in table.raw:
        return []
    return _unlike(table.raw, answered["rounds"])


def broken(table: Table, answered: Mapping[str, Any]) -> list[str]:
    """Say which invariants an answer breaks."""
    return [] if "error" in answered else list(broken_invariants(table.raw, answered["rounds"]))


# Upstream -------------------------------------------------------------------------------------------------------------


def _unmet(case: Mapping[str, Any], outcome: Mapping[str, Any]) -> Iterator[str]:
    expect = case["expect"]
    if "binds" in expect:
        yield from _mapping_difference("binds", expect["binds"], outcome["binds"])
    if "bindCount" in expect and len(outcome["binds"]) != expect["bindCount"]:
        yield f"bindCount: expected {expect['bindCount']}, got {len(outcome['binds'])}: {outcome['binds']}"
    if "evictions" in expect and sorted(expect["evictions"]) != outcome["evictions"]:
        yield f"evictions: expected {sorted(expect['evictions'])}, got {outcome['evictions']}"
    for group, nodes in expect.get("pipelined", {}).items():
        places = outcome["pipelined"].get(group, {})
        if not places or not set(places.values()) <= set(nodes):
            yield f"pipelined {group}: expected some on {nodes}, got {places}"
    for field in ("phases", "taskStatusCounts"):
        named = {key: outcome[field].get(key) for key in expect.get(field, {})}
        yield from _mapping_difference(field, expect.get(field, {}), named)
    if "bindCountsPerHyperNode" in expect:
        counts = _counts_by_domain(case, outcome["binds"])
        if counts != sorted(expect["bindCountsPerHyperNode"]):
            yield f"bindCountsPerHyperNode: expected {expect['bindCountsPerHyperNode']}, got {counts}"


def _counts_by_domain(case: Mapping[str, Any], binds: Mapping[str, str]) -> list[int]:
    topology = case["hyperNodes"]
    lowest = topology["byTier"][min(topology["byTier"], key=int)]
    counts = (sum(node in topology["realNodes"].get(name, ()) for node in binds.values()) for name in lowest)
    return sorted(count for count in counts if count)


def _mapping_difference(field: str, expected: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted({*expected, *got}):
        if expected.get(key) != got.get(key):
            yield f"{field} {key}: expected {expected.get(key)}, got {got.get(key)}"


# Generated ------------------------------------------------------------------------------------------------------------


def _unlike(case: Mapping[str, Any], rounds: list[Mapping[str, Any]]) -> list[str]:
    """Return the differences from the outcome that is most like."""
    outcomes = [each["rounds"] for each in case["observed"]]
    if len(outcomes) == 1:
        return _inexact(outcomes[0], rounds)
    groups = {_key(pod): _group(pod) for pod in case["objects"].get("pods", ())}
    mine = [_signature(each, groups) for each in rounds]
    unlike = [_signature_difference([_signature(each, groups) for each in outcome], mine) for outcome in outcomes]
    return min(unlike, key=len)


def _inexact(outcome: list[Mapping[str, Any]], rounds: list[Mapping[str, Any]]) -> list[str]:
    found = [] if len(outcome) == len(rounds) else [f"expected {len(outcome)} rounds, got {len(rounds)}"]
    for number, (expected, got) in enumerate(zip(outcome, rounds, strict=False), start=1):
        for field in EXACT_FIELDS:
            if field not in expected:
                continue
            if field == "evictions":
                if sorted(expected[field]) != got[field]:
                    found.append(f"round {number}: evictions: expected {sorted(expected[field])}, got {got[field]}")
            else:
                found += [f"round {number}: {text}" for text in _mapping_difference(field, expected[field], got[field])]
    return found


def _signature(each: Mapping[str, Any], groups: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
    return {
        "bound": Counter(groups[pod] for pod in each["binds"]),
        "evicted": Counter(groups[pod] for pod in each["evictions"]),
        "phases": each["phases"],
    }


def _signature_difference(
    expected: list[dict[str, Mapping[str, Any]]], got: list[dict[str, Mapping[str, Any]]]
) -> list[str]:
    return [
        f"round {number}: {text}"
        for number, (one, other) in enumerate(zip(expected, got, strict=True), start=1)
        for field in one
        for text in _mapping_difference(field, one[field], other[field])
    ]


def _key(each: Mapping[str, Any]) -> str:
    metadata = each["metadata"]
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"


def _group(pod: Mapping[str, Any]) -> str:
    metadata = pod["metadata"]
    return f"{metadata.get('namespace', 'default')}/{(metadata.get('annotations') or {}).get(GROUP, '')}"
