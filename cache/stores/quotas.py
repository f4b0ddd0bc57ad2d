"""Quotas: elastic quotas, parsed when their content changes, and the amounts that pods request and use by quota.

Pods are counted only while the cluster has a quota.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from pyroclast.cache.stores.amounts.columns import frozen
from pyroclast.cache.stores.amounts.uncounted import Uncounted
from pyroclast.cache.translation.template_deltas import TemplateDeltas
from pyroclast.model import wire
from pyroclast.model.arrays import IntArray
from pyroclast.model.elastic import Claim, ParsedQuota, QuotaUses, read_quota
from pyroclast.model.elastic.quota import age, is_said_alike
from pyroclast.model.elastic.uses import claim_of, counts
from pyroclast.model.errors import ObjectError
from pyroclast.model.resources import NO_AMOUNTS, Amounts, ResourceSpace
from pyroclast.model.tasks import Task

__all__ = ["QuotaStore", "UsesByClaim"]


class QuotaStore:
    """Parsed quotas by `namespace/name`."""

    def __init__(self, report: Callable[[ObjectError], None]) -> None:
        """Start without quotas; `report` receives each broken field once per change of its object."""
        self._report = report
        self._by_key: dict[str, ParsedQuota] = {}
        self._by_name: Mapping[str, ParsedQuota] | None = MappingProxyType({})
        self._shadowed: dict[str, str] = {}
        """Quotas without effect, and the quota of the same name that has effect, by `namespace/name`."""

    def set(self, key: str, quota: wire.ElasticQuota | None) -> Iterable[Amounts]:
        """Add, replace or, with None, remove an object by `namespace/name`.

        Returns:
            The amounts of a quota whose content changed.
        """
        self._by_name = None
        if quota is None:
            self._by_key.pop(key, None)
            return ()
        known = self._by_key.get(key)
        if known is not None and is_said_alike(known.object, quota):
            self._by_key[key] = replace(known, object=quota)
            return ()
        read = self._by_key[key] = read_quota(quota, self._report)
        return _amounts_in(read)

    def amounts(self) -> Iterable[Amounts]:
        """Return the amounts of all quotas."""
        for quota in self._by_key.values():
            yield from _amounts_in(quota)

    def by_name(self) -> Mapping[str, ParsedQuota]:
        """Return the quotas in the order of their names. The oldest quota of a name counts; the others are reported."""
        if self._by_name is None:
            found: dict[str, ParsedQuota] = {}
            shadowed: dict[str, str] = {}
            for quota in sorted(self._by_key.values(), key=lambda each: age(each.object)):
                oldest = found.setdefault(quota.name, quota)
                if oldest is not quota:
                    shadowed[quota.object.metadata.key] = oldest.object.metadata.key
            self._by_name = MappingProxyType({name: found[name] for name in sorted(found)})
            for key, other in shadowed.items():
                if self._shadowed.get(key) != other:
                    message = f"has no effect: {other} is older, and the names of quotas must be unique in the cluster"
                    self._report(ObjectError(wire.ElasticQuota.__name__, key, "metadata.name", message))
            self._shadowed = shadowed
        return self._by_name


class UsesByClaim:
    """Requested and used amounts by claim on a quota."""

    def __init__(self) -> None:
        """Start without counting."""
        self._counted: dict[Claim, tuple[IntArray, int]] | None = None
        """Requested and used amounts, base units, shape (2, R), and the number of pods; None while not counting."""
        self._space: ResourceSpace | None = None
        self._deltas: TemplateDeltas | None = None

    def exchange(self, old: Task | None, new: Task | None, deltas: TemplateDeltas) -> None:
        """Count a task instead of an older state of it; None stands for its absence."""
        if self._counted is None:
            return
        if deltas is not self._deltas:
            self._counted = None  # the rows of the amounts have changed
            return
        if old is not None:
            self._add(self._counted, old, deltas, -1)
        if new is not None:
            self._add(self._counted, new, deltas, 1)

    def table(
        self, space: ResourceSpace, deltas: TemplateDeltas, tasks: Iterable[Task], uncounted: Iterable[Uncounted]
    ) -> QuotaUses:
        """Return the sums without the `uncounted` amounts.

        `tasks` are all tasks. They are counted again if the resource space has changed.
        """
        if self._counted is None or self._space is not space or self._deltas is not deltas:
            self._space, self._deltas, self._counted = space, deltas, {}
            for task in tasks:
                self._add(self._counted, task, deltas, 1)
        claims = tuple(sorted(self._counted))
        both = np.zeros((2, len(space), len(claims)), dtype=np.int64)
        for column, claim in enumerate(claims):
            both[:, :, column] = self._counted[claim][0]
        columns = {claim: column for column, claim in enumerate(claims)}
        for task, amounts in uncounted:
            asks, uses = counts(task)
            if asks:
                both[: 1 + uses, :, columns[claim_of(task)]] -= amounts
        frozen(both)
        return QuotaUses(claims=claims, requested=both[0], used=both[1])

    def stop(self) -> None:
        """Stop counting."""
        self._counted = None

    @staticmethod
    def _add(counted: dict[Claim, tuple[IntArray, int]], task: Task, deltas: TemplateDeltas, sign: int) -> None:
        asks, uses = counts(task)
        if not asks:
            return
        claim, request = claim_of(task), deltas.request(task.template)
        known = counted.get(claim)
        sums, pods = (np.zeros((2, request.size), dtype=np.int64), 0) if known is None else known
        sums[0] += sign * request
        if uses:
            sums[1] += sign * request
        if pods + sign:
            counted[claim] = (sums, pods + sign)
        else:
            del counted[claim]


def _amounts_in(quota: ParsedQuota) -> tuple[Amounts, ...]:
    return quota.maximum, quota.minimum, quota.weight, quota.tree_total or NO_AMOUNTS
