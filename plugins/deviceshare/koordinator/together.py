"""All devices of a pod: independent types, and types that must be close to each other.

For joint types, devices of the first type are chosen first. For each other type, a device at each PCIe switch of the
first is chosen if there is one, so there may be more devices than requested. If there are too few, or if they are not
at the same switches although that is required, the next best choice is tried.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice

from pyroclast.model.devices.cards import Use
from pyroclast.model.devices.koordinator.device_hints import Joint, PartitionWish
from pyroclast.model.devices.koordinator.names import GPU
from pyroclast.plugins.deviceshare.koordinator import reasons
from pyroclast.plugins.deviceshare.koordinator.demand import DeviceDemand
from pyroclast.plugins.deviceshare.koordinator.free import Free
from pyroclast.plugins.deviceshare.koordinator.generic import amounts_of, one_by_one
from pyroclast.plugins.deviceshare.koordinator.needs import Need
from pyroclast.plugins.deviceshare.koordinator.partitions import by_partition
from pyroclast.plugins.deviceshare.koordinator.rules import Rules
from pyroclast.plugins.deviceshare.koordinator.scopes import by_scope, is_within

__all__ = ["allocate"]


def allocate(free: Free, needs: tuple[Need, ...], demand: DeviceDemand, rules: Rules) -> tuple[Use, ...] | str:
    """Return the devices of a pod, by type and in the order of their choice, or the reason of a refusal."""
    found: dict[str, tuple[Use, ...]] = {}
    joint = demand.wishes.joint_of(demand.types)
    if joint is not None:
        together = _together(free, {need.type: need for need in needs}, joint, (demand, rules))
        if isinstance(together, str):
            return together
        found = together
    for need in needs:
        if need.type not in found:
            uses = _alone(free, need, (demand, rules))
            if isinstance(uses, str):
                return uses
            found[need.type] = uses
    return tuple(use for need in needs for use in found[need.type])


_Terms = tuple[DeviceDemand, Rules]


def _choices(free: Free, need: Need, terms: _Terms) -> Iterable[tuple[Use, ...]]:
    if need.type == GPU:
        return _gpu_choices(free, need, *terms)
    uses = one_by_one(free, need, terms[1].scoring)
    return () if uses is None else (uses,)


def _alone(free: Free, need: Need, terms: _Terms) -> tuple[Use, ...] | str:
    return next(iter(_choices(free, need, terms)), None) or _why_none(free, need, terms)


def _why_none(free: Free, need: Need, terms: _Terms) -> str:
    return _why_no_gpus(free, need, terms[0]) if need.type == GPU else reasons.insufficient(need.type)


def _together(free: Free, needs: Mapping[str, Need], joint: Joint, terms: _Terms) -> dict[str, tuple[Use, ...]] | str:
    first, *others = joint.types
    why = ""
    for chosen in _choices(free, needs[first], terms):
        found = _beside(free, chosen, [needs[kind] for kind in others], joint, terms)
        if not isinstance(found, str):
            return {first: chosen, **found}
        why = why or found
        if not terms[1].searches_on:
            break
    return why or _why_none(free, needs[first], terms)


def _beside(
    free: Free, chosen: tuple[Use, ...], others: Iterable[Need], joint: Joint, terms: _Terms
) -> dict[str, tuple[Use, ...]] | str:
    """Return devices of the other types near the chosen ones."""
    switches = _switches(free, chosen)
    found: dict[str, tuple[Use, ...]] = {}
    for need in others:
        choices = _choices_near(free, need, switches, terms)
        if not choices:
            return _why_none(free, need, terms)
        fitting = (uses for uses in choices if not joint.same_pcie or _switches(free, uses).keys() == switches.keys())
        uses = next(fitting, None)
        if uses is None:
            return reasons.JOINT
        found[need.type] = uses
    return found


def _choices_near(free: Free, need: Need, switches: Collection[str], terms: _Terms) -> list[tuple[Use, ...]]:
    """Return choices of devices near PCIe switches. GPUs are not drawn to switches and keep their own order."""
    if need.type == GPU:
        return list(islice(_choices(free, need, terms), None if terms[1].searches_on else 1))
    uses = one_by_one(free, need, terms[1].scoring, switches)
    return [] if uses is None else [uses]


def _switches(free: Free, uses: Iterable[Use]) -> dict[str, None]:
    """Return the distinct PCIe switches of devices."""
    places = (free.layout.devices[use.card].place for use in uses)
    return dict.fromkeys(place.pcie for place in places if place is not None)


def _gpu_choices(free: Free, need: Need, demand: DeviceDemand, rules: Rules) -> Iterator[tuple[Use, ...]]:
    """Yield GPUs for a need, the best choice first."""
    layout = free.layout
    if layout.partitions is not None and not need.is_shared:
        wish = demand.wishes.partition or PartitionWish()
        for chosen in by_partition(free, layout.partitions, need, wish, ascending=rules.small_scores_first):
            if is_within(layout, chosen, need):
                yield _uses(chosen, need)
    if _is_by_partition_alone(free, need, demand):
        return
    has_tree = all(layout.devices[at].place is not None for at in layout.by_type[GPU])
    if has_tree and (need.devices == 1 or not need.is_shared):
        for chosen in by_scope(free, need, rules.scoring):
            yield _uses(chosen, need)
    else:
        uses = one_by_one(free, need, rules.scoring)
        if uses is not None:
            yield uses


def _why_no_gpus(free: Free, need: Need, demand: DeviceDemand) -> str:
    """Return the reason why there are no GPUs."""
    if _is_by_partition_alone(free, need, demand):
        return reasons.PARTITIONED
    return reasons.SCOPED if need.hint.scope else reasons.insufficient(GPU)


def _is_by_partition_alone(free: Free, need: Need, demand: DeviceDemand) -> bool:
    if need.is_shared:
        return False
    table = free.layout.partitions
    return demand.wishes.partition is not None or (table is not None and table.is_mandatory)


def _uses(chosen: tuple[int, ...], need: Need) -> tuple[Use, ...]:
    return tuple(Use(at, 0, amounts=amounts_of(need.each)) for at in chosen)
