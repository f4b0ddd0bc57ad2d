"""The nearest known name."""

import pytest

from pyroclast.framework.configuration.suggest import did_you_mean, nearest

KNOWN = ("allocate", "backfill", "numa-aware", "network-topology-aware", "resourcequota")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("numaaware", "numa-aware"),
        ("Numa_Aware", "numa-aware"),
        ("alocate", "allocate"),
        ("resource-quota", "resourcequota"),
        ("zzz", None),
        ("", None),
    ],
)
def test_the_nearest_name(name: str, meant: str | None) -> None:
    """Hyphens and case count for nothing; far names have no neighbour."""
    assert nearest(name, KNOWN) == meant


def test_a_hint_is_the_end_of_a_message() -> None:
    """Nothing is said when nothing is near."""
    assert did_you_mean("alocate", KNOWN) == " (did you mean 'allocate'?)"
    assert did_you_mean("zzz", KNOWN) == ""
