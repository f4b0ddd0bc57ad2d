"""Filters of predicates by resource claims: pods that need devices wait, with the reason."""

from typing import Any

import pytest

from pyroclast.model import wire
from pyroclast.testing import Scenario
from tests.unit.plugins.filtering import Filtering, meta, node, opened, pod

PREFIX = "plugin DynamicResources pre-predicates failed "
TEMPLATE = wire.PodResourceClaim(name="gpu", resource_claim_template_name="gpus")
NAMED = wire.PodResourceClaim(name="gpu", resource_claim_name="mine")
STATUS = wire.PodResourceClaimStatus(name="gpu", resource_claim_name="mine")
MINE = wire.ResourceClaim(metadata=meta("mine"))
LEAVING = wire.ResourceClaim(metadata=meta("mine", deletion_timestamp="2026-01-01T00:00:00Z"))
CONSUMERS = tuple(wire.ResourceClaimConsumer(resource="pods", name=f"p{n}", uid=f"p{n}") for n in range(256))
CROWDED = wire.ResourceClaim(
    metadata=meta("mine"),
    status=wire.ResourceClaimStatus(allocation=wire.AllocationResult(), reserved_for=CONSUMERS),
)


def using(claim: wire.PodResourceClaim, *made: wire.PodResourceClaimStatus) -> wire.Pod:
    """Return a pod with one claim."""
    plain = pod("p", resource_claims=(claim,))
    status = wire.PodStatus(phase="Pending", resource_claim_statuses=made)
    return wire.Pod(metadata=plain.metadata, spec=plain.spec, status=status)


def fault(cluster: Filtering) -> str:
    """Say why the pod can go nowhere."""
    refusal = cluster.session.candidates.pre_predicate(cluster.task("p"))
    return refusal.message if refusal is not None else ""


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ([using(NAMED)], 'resourceclaim "mine" not found'),
        ([using(NAMED), LEAVING], 'resourceclaim "mine" is being deleted'),
        ([using(TEMPLATE, STATUS), MINE], 'resourceclaim "mine" was not created for pod "ns/p" (pod is not owner)'),
        ([using(NAMED), CROWDED], 'resourceclaim "mine" is in use by 256 pods'),
        ([using(TEMPLATE)], 'waiting for the resourceclaim "gpu" to be made from template "gpus"'),
        (
            [using(TEMPLATE, wire.PodResourceClaimStatus(name="gpu", resource_claim_name="p-gpu"))],
            'resourceclaim "p-gpu" not found',
        ),
    ],
)
def test_a_pod_that_needs_devices_waits(objects: list[Any], said: str) -> None:
    """Bound without its devices it would never start."""
    assert fault(opened(node("n"), *objects)) == PREFIX + said


def test_a_claim_that_asks_for_nothing_is_no_hindrance() -> None:
    """Kubernetes writes no name where a template made nothing."""
    assert fault(opened(node("n"), using(TEMPLATE, wire.PodResourceClaimStatus(name="gpu")))) == ""


def test_claims_wait_where_no_plugin_looks_at_them() -> None:
    """A kubelet would not start the pod; a claim that asks for nothing is no hindrance."""
    unserved = "the pod requires resource claims, which no configured plugin serves"
    nothing = using(TEMPLATE, wire.PodResourceClaimStatus(name="gpu"))

    assert fault(opened(node("n"), using(NAMED), devices=False)) == unserved
    assert fault(opened(node("n"), nothing, devices=False)) == ""


def test_no_pod_is_evicted_for_a_claim() -> None:
    """No eviction makes a claim."""
    scenario = Scenario().priority_class("high", 9).node("n", cpu=1).running("low", on=["n"], min_available=0)
    scenario = scenario.job("high", priority_class="high", phase="Inqueue")
    waits = next(each for each in scenario.objects if each["kind"] == "Pod" and each["metadata"]["name"] == "high-0")
    waits["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "mine"}]
    outcome = scenario.run("allocate", "preempt", plugins=(("priority", "gang"), ("predicates",)))

    assert outcome.evictions == []
    assert outcome.why_pod("high-0") == f'predicates: {PREFIX}resourceclaim "mine" not found'
