"""Choice of GPUs: whole GPUs by partition, otherwise by topology, otherwise one by one."""

from collections.abc import Iterator

from pyroclast.model.devices.cards import Use
from pyroclast.model.devices.koordinator.device_hints import PartitionWish
from pyroclast.model.devices.koordinator.names import GPU
from pyroclast.plugins.deviceshare.koordinator import reasons
from pyroclast.plugins.deviceshare.koordinator.demand import DeviceDemand
from pyroclast.plugins.deviceshare.koordinator.free import Free
from pyroclast.plugins.deviceshare.koordinator.generic import amounts_of, one_by_one
from pyroclast.plugins.deviceshare.koordinator.needs import Need
from pyroclast.plugins.deviceshare.koordinator.partitions import by_partition
from pyroclast.plugins.deviceshare.koordinator.rules import Rules
from pyroclast.plugins.deviceshare.koordinator.scopes import by_scope, is_within

__all__ = ["gpu_choices", "why_no_gpus"]


def gpu_choices(free: Free, need: Need, demand: DeviceDemand, rules: Rules) -> Iterator[tuple[Use, ...]]:
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


def why_no_gpus(free: Free, need: Need, demand: DeviceDemand) -> str:
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
