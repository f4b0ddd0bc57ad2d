"""Situations that do not end as expected yet. A situation that ends well and is listed here fails: delete its line."""

EXPECTED_FAILURES = frozenset(
    {
        "c13-as-many-as-minimum",
        "c79-priority-by-tier-reclaim",
        "c85-preempt-gang-two-sizes",
        "f13-preempt-picky",
        "f14-reclaim-two-sizes",
        "f15-gangpreempt-two-sizes",
        "f16-gangreclaim-two-sizes",
        "h01-lowest-node",
        "h03-fewer-victims",
        "h04-idle-helps",
        "h07-reclaim-fewest",
        "h08-reclaim-lowest",
        "h09-gangpreempt-leaf",
        "x04-light-member-full",
    }
)
