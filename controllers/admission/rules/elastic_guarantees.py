"""Guarantees of ElasticQuotas by use: a larger minimum must be covered by what the quotas above it are guaranteed.

A quota is guaranteed its minimum, and with guarantees by use also what its pods use, as its annotation says. The
quotas above it need enough for all of their children. The search ends at the first quota that has enough.
"""

from collections.abc import Iterable, Iterator

from pyroclast.controllers.admission.faults import Fault
from pyroclast.model import wire
from pyroclast.model.annotations import read_json
from pyroclast.model.elastic.names import ALLOW_FORCE_UPDATE, GUARANTEED, IS_ROOT, PARENT, ROOT_QUOTA
from pyroclast.model.elastic.quota import ParsedQuota, age, read_quota
from pyroclast.model.quantity import QuantityError
from pyroclast.model.requests import amounts, quantity_text
from pyroclast.model.resources import NO_AMOUNTS, Amounts

__all__ = ["guarantee_faults"]


def guarantee_faults(
    quota: ParsedQuota, before: ParsedQuota | None, others: Iterable[wire.ElasticQuota]
) -> Iterator[Fault]:
    """Find resources whose guarantee no quota above covers.

    Args:
        quota: The quota, with the tree that it is in. Only quotas of trees are checked, as in Koordinator.
        before: Previous quota, None for a new one.
        others: All other quotas.
    """
    labels, own = quota.object.metadata.labels, _guaranteed(quota.object)
    is_alone = quota.parent == ROOT_QUOTA and not quota.is_parent
    if not quota.tree or is_alone or "true" in {labels.get(ALLOW_FORCE_UPDATE), labels.get(IS_ROOT)}:
        return
    had = before.minimum if before is not None and before.parent == quota.parent else NO_AMOUNTS
    names = {name for name, least in quota.minimum.items() if least > max(had.get(name, 0), own.get(name, 0))}
    by_name = {each.metadata.name: each for each in sorted(others, key=age, reverse=True)}
    needed = {name: quota.minimum[name] for name in names}
    at, parent, seen = quota.name, quota.parent, {quota.name}
    while needed and parent not in seen:
        above = by_name.get(parent)
        if parent == ROOT_QUOTA or above is None:
            break
        needed = _needed_of(above, needed, (each for each in by_name.values() if each.metadata.name != at))
        at, parent = parent, above.metadata.labels.get(PARENT) or ROOT_QUOTA
        seen.add(at)
    if parent == ROOT_QUOTA:
        for name, amount in sorted(needed.items()):
            rule = f"{at}, the root of its tree, must be guaranteed {quantity_text(name, amount)} for it, and is not"
            yield Fault(field=f"spec.min.{name}", rule=rule)


def _needed_of(above: wire.ElasticQuota, needed: Amounts, others: Iterable[wire.ElasticQuota]) -> dict[str, int]:
    """Return what a quota must be guaranteed beyond what it is, with what one of its children needs, by resource."""
    total = dict(needed)
    for each in others:
        if (each.metadata.labels.get(PARENT) or ROOT_QUOTA) == above.metadata.name:
            has = _guaranteed(each)
            for name in total:
                total[name] += has.get(name, 0)
    least, has = read_quota(above, lambda _: None).minimum, _guaranteed(above)
    total = {name: max(amount, least.get(name, 0)) for name, amount in total.items()}
    return {name: amount for name, amount in total.items() if amount > has.get(name, 0)}


def _guaranteed(quota: wire.ElasticQuota) -> Amounts:
    """Return what the scheduler says that a quota is guaranteed; nothing if that cannot be read."""
    try:
        return amounts(read_json(quota.metadata.annotations.get(GUARANTEED) or "{}", dict[str, wire.Quantity]))
    except (ValueError, QuantityError):
        return NO_AMOUNTS
