"""Quotas: elastic quotas, each read when what it says changes, and what pods ask for and have by quota.

Pods are counted while there is a quota at all; a cluster without them pays nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from pyroclast.cache.stores.columns import frozen
from pyroclast.cache.stores.uncounted import Uncounted
from pyroclast.cache.translation.template_deltas import TemplateDeltas
from pyroclast.model import wire
from pyroclast.model.arrays import IntArray
from pyroclast.model.elastic import Claim, ParsedQuota, QuotaUses, read_quota
from pyroclast.model.elastic.quota import age, is_said_alike
from pyroclast.model.elastic.uses import claim_of, counts
from pyroclast.model.errors import ObjectError
from pyroclast.model.resources import NO_AMOUNTS, Amounts, ResourceSpace
from pyroclast.model.tasks import Task

__all__ = ["QuotaKeeper", "UsesByClaim"]


class QuotaKeeper:
    """The readings of all quotas."""

    def __init__(self, report: Callable[[ObjectError], None]) -> None:
        """Tell `report` of what cannot be read, once for each time that an object says it anew."""
        self._report = report
        self._by_key: dict[str, ParsedQuota] = {}
        self._by_name: Mapping[str, ParsedQuota] | None = MappingProxyType({})
        self._shadowed: dict[str, str] = {}
        """Quotas that do not count, and which of their name does, by `namespace/name`."""

    def follow(self, key: str, quota: wire.ElasticQuota | None) -> Iterable[Amounts]:
        """Take over an object, new or changed, by `namespace/name`; None stands for its absence.

        Returns:
            The amounts that it speaks of.
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
        """Return all amounts that quotas speak of."""
        for quota in self._by_key.values():
            yield from _amounts_in(quota)

    def by_name(self) -> Mapping[str, ParsedQuota]:
        """Return the readings in the order of their names; of several of one name the oldest counts, others hear it."""
        if self._by_name is None:
            found: dict[str, ParsedQuota] = {}
            shadowed: dict[str, str] = {}
            for quota in sorted(self._by_key.values(), key=lambda each: age(each.object)):
                counts = found.setdefault(quota.name, quota)
                if counts is not quota:
                    shadowed[quota.object.metadata.key] = counts.object.metadata.key
            self._by_name = MappingProxyType({name: found[name] for name in sorted(found)})
            for key, other in shadowed.items():
                if self._shadowed.get(key) != other:
                    message = f"has no effect: {other} is older, and names of quotas are unique in the cluster"
                    self._report(ObjectError(wire.ElasticQuota.__name__, key, "metadata.name", message))
            self._shadowed = shadowed
        return self._by_name


class UsesByClaim:
    """Sums of what pods ask for and have."""

    def __init__(self) -> None:
        """Count nothing yet."""
        self._counted: dict[Claim, tuple[IntArray, int]] | None = None
        """Asked for and used, base units, shape (2, R), and how many pods; None while nobody asks."""
        self._space: ResourceSpace | None = None
        self._effects: TemplateDeltas | None = None

    def exchange(self, old: Task | None, new: Task | None, effects: TemplateDeltas) -> None:
        """Count a task in place of what it was; None stands for its absence."""
        if self._counted is None:
            return
        if effects is not self._effects:
            self._counted = None  # amounts have other rows from now on
            return
        if old is not None:
            self._add(self._counted, old, effects, -1)
        if new is not None:
            self._add(self._counted, new, effects, 1)

    def table(
        self, space: ResourceSpace, effects: TemplateDeltas, tasks: Iterable[Task], uncounted: Iterable[Uncounted]
    ) -> QuotaUses:
        """Return the sums, without what is `uncounted`.

        `tasks` are all there are, and are counted where that has not been done in this space.
        """
        if self._counted is None or self._space is not space or self._effects is not effects:
            self._space, self._effects, self._counted = space, effects, {}
            for task in tasks:
                self._add(self._counted, task, effects, 1)
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
        """Count no more."""
        self._counted = None

    @staticmethod
    def _add(counted: dict[Claim, tuple[IntArray, int]], task: Task, effects: TemplateDeltas, sign: int) -> None:
        asks, uses = counts(task)
        if not asks:
            return
        claim, request = claim_of(task), effects.request(task.template)
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
