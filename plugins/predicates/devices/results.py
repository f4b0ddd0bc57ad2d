"""Results: the allocation of a claim, as it is written into its status."""

from collections.abc import Iterator, Mapping, Sequence

from pyroclast.model import wire
from pyroclast.model.ids import NodeName
from pyroclast.plugins.predicates.devices.pools import Offer, Pools
from pyroclast.plugins.predicates.devices.requests import ClaimNeed
from pyroclast.plugins.predicates.devices.search import Chosen

__all__ = ["allocation_of"]

FROM_CLASS, FROM_CLAIM = "FromClass", "FromClaim"


def allocation_of(
    need: ClaimNeed, chosen: Sequence[Chosen], pools: Pools, node: NodeName, classes: Mapping[str, wire.DeviceClass]
) -> wire.AllocationResult:
    """Return the allocation of a claim on a node: devices, configuration, and the nodes that reach all devices."""
    results = tuple(
        wire.DeviceAllocationResult(
            request=each.subrequest.name,
            driver=offer.id.driver,
            pool=offer.id.pool,
            device=offer.id.device,
            admin_access=each.subrequest.spec.admin_access,
            tolerations=each.subrequest.spec.tolerations,
        )
        for each in chosen
        for offer in (pools.offers[number] for number in each.devices)
    )
    offers = [pools.offers[number] for each in chosen for number in each.devices]
    return wire.AllocationResult(
        devices=wire.DeviceAllocation(results=results, config=tuple(_configuration(need, chosen, classes))),
        node_selector=_node_selector(offers, node),
    )


def _configuration(
    need: ClaimNeed, chosen: Sequence[Chosen], classes: Mapping[str, wire.DeviceClass]
) -> Iterator[wire.DeviceAllocationConfiguration]:
    """Yield the configuration of each class once, then that of the claim: later entries take precedence."""
    every = len(need.requests)
    by_class: dict[str, list[str]] = {}
    for each in chosen:
        by_class.setdefault(each.subrequest.spec.device_class_name, []).append(each.subrequest.name)
    for name, requests in by_class.items():
        for entry in classes[name].spec.config:
            concerned = () if len(requests) == every else tuple(requests)
            yield wire.DeviceAllocationConfiguration(source=FROM_CLASS, requests=concerned, opaque=entry.opaque)
    names = {name for each in chosen for name in (each.subrequest.name, each.subrequest.request)}
    for entry_of_claim in need.claim.spec.devices.config:
        if not entry_of_claim.requests or names.intersection(entry_of_claim.requests):
            yield wire.DeviceAllocationConfiguration(
                source=FROM_CLAIM, requests=entry_of_claim.requests, opaque=entry_of_claim.opaque
            )


def _node_selector(offers: Sequence[Offer], node: NodeName) -> wire.NodeSelector | None:
    """Return the nodes that reach all devices; None for all nodes."""
    if any(offer.node or offer.device.binds_to_node for offer in offers):
        only = wire.SelectorRequirement(key="metadata.name", operator="In", values=(node,))
        return wire.NodeSelector(node_selector_terms=(wire.NodeSelectorTerm(match_fields=(only,)),))
    selectors = [offer.selector for offer in offers if offer.selector is not None]
    terms = [term for each in selectors for term in each.node_selector_terms]
    if not terms:
        return None
    merged = wire.NodeSelectorTerm(
        match_expressions=tuple(dict.fromkeys(each for term in terms for each in term.match_expressions)),
        match_fields=tuple(dict.fromkeys(each for term in terms for each in term.match_fields)),
    )
    return wire.NodeSelector(node_selector_terms=(merged,))
