"""Allocator: the devices that claims of tasks get in a session, as a ledger.

A claim that is allocated restricts its pods to the nodes of its allocation. Other claims get devices with the placement
of the first task that names them; further tasks share these. Each claim becomes a preparation of the task's binding:

    Preparation(kind="allocate-claim", namespace=<of the claim>, name=<of the claim>, details=...)

with the details (all texts)

- `claim-uid`: UID of the claim;
- `allocation`: the allocation as JSON; absent if the claim has one already;
- `replaces`: the earlier allocation as JSON, if the claim has another one that no other pod uses.

The preparation reserves the claim for the pod. Devices of evicted pods are free when their claims are deallocated.

A bind that failed half-way, or a restart, may leave a claim allocated for a pod that is still pending. The pod keeps
these devices on the nodes of the allocation, and gets others on other nodes.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import msgspec
import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger, Verb
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray, ReasonArray
from pyroclast.model.device_claims import ALLOCATE_CLAIM, named_claims
from pyroclast.model.ids import TaskId
from pyroclast.model.matching.nodes import node_selector_mask
from pyroclast.model.plan import Preparation
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.tasks import Task
from pyroclast.plugins.predicates.devices.pools import DeviceId, Pools
from pyroclast.plugins.predicates.devices.requests import TOO_MANY_STEPS, ClaimNeed, Requests
from pyroclast.plugins.predicates.devices.results import allocation_of
from pyroclast.plugins.predicates.devices.search import Chosen, Search
from pyroclast.plugins.predicates.devices.usage import DeviceUsage

__all__ = ["REASONS", "DeviceAllocator"]

REASONS: Final = (
    Reason("node(s) had too many devices to try for the resourceclaims", resolvable=False),
    Reason("node(s) had resource pools that are incomplete or invalid", resolvable=False),
    Reason("node(s) cannot allocate all resourceclaims", resolvable=False),
    Reason("resourceclaim not available on the node", resolvable=False),
)
_EXHAUSTED, _BROKEN_POOL, _NO_DEVICES, _ELSEWHERE = (np.uint8(number) for number in (1, 2, 3, 4))
_MOST_STANDING: Final = 1024
"""Combinations of requests for which verdicts are kept."""
_MOST_CONSUMERS: Final = 256
"""Pods that a claim can be reserved for; the limit of the API server."""


@dataclass(slots=True, eq=False)
class _Given:
    """A claim that a task placed in this session uses."""

    allocation: wire.AllocationResult
    devices: tuple[int, ...]
    """Devices that it got in this session, and that no other claim can have."""
    tasks: list[TaskId] = field(default_factory=list)
    """Placed tasks that use it; the first one made the choice."""


@dataclass(slots=True, eq=False)
class _Standing:
    """Verdicts for claims with certain requests."""

    needs: tuple[ClaimNeed, ...]
    verdicts: ReasonArray
    """Verdict of each group of nodes that reach the same devices, shape (groups,)."""
    version: int
    """Length of the log that the verdicts follow."""


class DeviceAllocator(Ledger):
    """Devices of claims; N nodes."""

    def __init__(self, session: Session, plugin: str) -> None:
        self._plugin = plugin
        self._claims = session.snapshot.objects.resource_claims
        self._classes = session.snapshot.objects.device_classes
        self._slices = session.snapshot.objects.resource_slices
        self._table = session.nodes.table
        self._facts = session.nodes.facts
        self._given: dict[str, _Given] = {}
        """Claims of tasks placed in this session, by key."""
        self._standing: dict[Hashable, _Standing] = {}
        self._log: list[int | None] = []
        """The node of each device that was given or taken back; None for one that several nodes reach."""

    @cached_property
    def _pools(self) -> Pools:
        return Pools(self._slices, self._table)

    @cached_property
    def _requests(self) -> Requests:
        return Requests(self._pools, self._classes)

    @cached_property
    def _usage(self) -> DeviceUsage:
        """Devices that allocated claims have, and those that were given in this session."""
        allocations = [each.status.allocation for each in self._claims.values()]
        identities = (
            DeviceId(each.driver, each.pool, each.device)
            for allocation in allocations
            if allocation is not None
            for each in allocation.devices.results
            if not each.admin_access
        )
        numbers = self._pools.numbers
        return DeviceUsage(self._pools, (numbers[each] for each in identities if each in numbers))

    def cares(self, task: Task) -> bool:
        """Return whether a task has claims."""
        return bool(task.pod.spec.resource_claims)

    # Faults -----------------------------------------------------------------------------------------------------------

    def fault(self, task: Task) -> str:
        """Return why a task's claims exclude all nodes; empty if they do not."""
        return next(self._faults(task), "")

    def _faults(self, task: Task) -> Iterator[str]:
        for asked, name in named_claims(task.pod):
            if name is None:
                template = asked.resource_claim_template_name
                yield f'waiting for the resourceclaim "{asked.name}" to be made from template "{template}"'
            elif name:
                fault = self._fault_of(task, name, is_made=bool(asked.resource_claim_template_name))
                if fault:
                    yield fault

    def _fault_of(self, task: Task, name: str, *, is_made: bool) -> str:
        claim = self._claims.get(f"{task.namespace}/{name}")
        if claim is None:
            return f'resourceclaim "{name}" not found'
        if claim.metadata.deletion_timestamp:
            return f'resourceclaim "{name}" is being deleted'
        if is_made and not claim.metadata.is_controlled_by(task.pod.metadata):
            return f'resourceclaim "{name}" was not created for pod "{task.pod.metadata.key}" (pod is not owner)'
        given = self._given.get(claim.metadata.key)
        users = {each.uid for each in claim.status.reserved_for} | set(given.tasks if given else ())
        if task.id not in users and len(users) >= _MOST_CONSUMERS:
            return f'resourceclaim "{name}" is in use by {_MOST_CONSUMERS} pods'
        if claim.status.allocation is not None or given is not None:
            return ""
        if self._requests.is_exhausted(task.namespace):
            return TOO_MANY_STEPS
        fault = self._requests.fault(claim)
        return f'resourceclaim "{name}": {fault}' if fault else ""

    # Verdicts ---------------------------------------------------------------------------------------------------------

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Evaluate all claims of a task, shape (columns,); None if it has none."""
        claims = list(self._claims_of(task))
        if not claims:
            return None
        open_claims = [claim for claim in claims if self._allocation(claim) is None]
        left_over = [claim for claim in claims if self._is_left_over(task, claim)]
        verdicts = self._searched(open_claims)
        if left_over:
            movable = [claim for claim in claims if claim in open_claims or claim in left_over]
            verdicts = np.where(self._nodes_of_all(left_over), verdicts, self._searched(movable))
        fixed = [claim for claim in claims if claim not in open_claims and claim not in left_over]
        verdicts[~self._nodes_of_all(fixed)] = _ELSEWHERE
        return verdicts if columns.is_all else verdicts[columns.index]

    def _claims_of(self, task: Task) -> Iterator[wire.ResourceClaim]:
        """Yield the claims of a task that exist, each once, in the order of its specification."""
        names = dict.fromkeys(name for _, name in named_claims(task.pod) if name)
        keys = (f"{task.namespace}/{name}" for name in names)
        return (self._claims[key] for key in keys if key in self._claims)

    def _allocation(self, claim: wire.ResourceClaim) -> wire.AllocationResult | None:
        given = self._given.get(claim.metadata.key)
        return claim.status.allocation if given is None else given.allocation

    def _is_left_over(self, task: Task, claim: wire.ResourceClaim) -> bool:
        """Return whether a claim is allocated, but neither a running pod nor another one uses it."""
        return (
            claim.status.allocation is not None
            and claim.metadata.key not in self._given
            and all(each.uid == task.id for each in claim.status.reserved_for)
        )

    def _nodes_of_all(self, claims: Sequence[wire.ResourceClaim]) -> BoolArray:
        """Return the nodes of the allocations of all these claims, shape (N,)."""
        reached = np.ones(len(self._table), dtype=np.bool_)
        for claim in claims:
            allocation = self._allocation(claim)
            if allocation is not None and allocation.node_selector is not None:
                reached &= node_selector_mask(self._facts, allocation.node_selector)
        return reached

    def _searched(self, claims: Sequence[wire.ResourceClaim]) -> ReasonArray:
        """Return verdicts for claims that need devices, a new array of shape (N,).

        Nodes that reach the same devices are searched once, and again only if their devices changed.
        """
        if not claims:
            return np.zeros(len(self._table), dtype=np.uint8)
        columns, group_of = self._pools.groups
        key = (claims[0].metadata.namespace, *(msgspec.json.encode(claim.spec) for claim in claims))
        known = self._standing.get(key)
        if known is None:
            if len(self._standing) >= _MOST_STANDING:
                self._standing.clear()
            needs = tuple(self._requests.need(claim) for claim in claims)
            known = _Standing(needs, np.zeros(len(columns), dtype=np.uint8), 0)
            self._standing[key] = known
            changed: Sequence[int] = range(len(columns))
        else:
            news = self._log[known.version :]
            changed = range(len(columns))
            if None not in news:
                changed = sorted({int(group_of[column]) for column in news if column is not None})
        for group in changed:
            known.verdicts[group] = self._verdict(known.needs, columns[group])
        known.version = len(self._log)
        verdicts: ReasonArray = known.verdicts[group_of]
        return verdicts

    def _verdict(self, needs: Sequence[ClaimNeed], column: int) -> np.uint8:
        namespace = needs[0].claim.metadata.namespace
        if self._requests.is_exhausted(namespace):
            return _EXHAUSTED
        search = self._search(needs, column)
        found = search.run()
        self._requests.steps[namespace] += search.steps
        if found is not None:
            return np.uint8(0)
        if search.is_exhausted:
            return _EXHAUSTED
        return _BROKEN_POOL if self._pools.fault(column) else _NO_DEVICES

    def _search(self, needs: Sequence[ClaimNeed], column: int) -> Search:
        knows_all = not self._pools.fault(column)
        return Search(self._pools, needs, self._pools.at(column), usage=self._usage, knows_all=knows_all)

    # Ledger -----------------------------------------------------------------------------------------------------------

    def apply(self, change: Change) -> Refusal | None:
        """Give devices to the claims of placed tasks. Refuse a task whose claims the node cannot serve any more."""
        if change.verb is Verb.EVICT:
            return None
        for done, (task, column) in enumerate(zip(change.tasks, change.columns, strict=True)):
            if task.pod.spec.resource_claims:
                refusal = self._give(task, column)
                if refusal is not None:
                    self._take_back(change.tasks[:done])
                    return refusal
        return None

    def revert(self, change: Change) -> None:
        """Take the devices back."""
        if change.verb is not Verb.EVICT:
            self._take_back(change.tasks)

    def chooses_for(self, task: Task) -> bool:
        """Return whether a task has claims, which get devices in the order of placements."""
        return bool(task.pod.spec.resource_claims)

    def _give(self, task: Task, column: int) -> Refusal | None:
        claims = list(self._claims_of(task))
        left_over = [claim for claim in claims if self._is_left_over(task, claim)]
        if self._nodes_of_all(left_over)[column]:
            left_over = []
        needing = [claim for claim in claims if self._allocation(claim) is None or claim in left_over]
        if not self._nodes_of_all([claim for claim in claims if claim not in needing])[column]:
            return self._refusal(_ELSEWHERE)
        needs = [self._requests.need(claim) for claim in needing]
        chosen = self._search(needs, column).run()
        if chosen is None:
            return self._refusal(_NO_DEVICES)
        for need, devices in zip(needs, chosen, strict=True):
            self._hand_out(need, devices, column)
        for claim in claims:
            allocation = claim.status.allocation
            if claim.metadata.key not in self._given and allocation is not None:
                self._given[claim.metadata.key] = _Given(allocation, ())  # kept as it is
            self._given[claim.metadata.key].tasks.append(task.id)
        return None

    def _refusal(self, verdict: np.uint8) -> Refusal:
        reason = REASONS[int(verdict) - 1]
        return Refusal(plugin=self._plugin, reason="DevicesNotAllocated", message=reason.text, resolvable=False)

    def _hand_out(self, need: ClaimNeed, chosen: Sequence[Chosen], column: int) -> None:
        devices = tuple(number for each in chosen if not each.subrequest.spec.admin_access for number in each.devices)
        allocation = allocation_of(need, chosen, self._pools, self._table.names[column], self._classes)
        self._given[need.claim.metadata.key] = _Given(allocation, devices)
        for number in devices:
            self._usage.take(number)
        self._log.extend(map(self._pools.column, devices))

    def _take_back(self, tasks: Sequence[Task]) -> None:
        for task in reversed(tasks):
            for claim in self._claims_of(task):
                given = self._given.get(claim.metadata.key)
                if given is None or task.id not in given.tasks:
                    continue
                given.tasks.remove(task.id)
                if not given.tasks:
                    del self._given[claim.metadata.key]
                    for number in given.devices:
                        self._usage.give_back(number)
                    self._log.extend(map(self._pools.column, given.devices))

    # Preparations -----------------------------------------------------------------------------------------------------

    def preparations(self, task: Task, _: int) -> list[Preparation]:
        """Return the preparations of a placed task's binding: one for each claim that is not reserved for it."""
        return [
            self._preparation(claim)
            for claim in self._claims_of(task)
            if self._is_new(claim) or all(each.uid != task.id for each in claim.status.reserved_for)
        ]

    def _is_new(self, claim: wire.ResourceClaim) -> bool:
        """Return whether a claim has another allocation than before this session."""
        return self._allocation(claim) is not claim.status.allocation

    def _preparation(self, claim: wire.ResourceClaim) -> Preparation:
        details: Mapping[str, str] = {"claim-uid": claim.metadata.uid}
        if self._is_new(claim):
            details = {**details, "allocation": msgspec.json.encode(self._allocation(claim)).decode()}
            if claim.status.allocation is not None:
                details = {**details, "replaces": msgspec.json.encode(claim.status.allocation).decode()}
        return Preparation(
            kind=ALLOCATE_CLAIM, namespace=claim.metadata.namespace, name=claim.metadata.name, details=details
        )
