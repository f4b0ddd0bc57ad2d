"""The phase that a group has after a cycle."""

from typing import Any, Final

import pytest

from pyroclast.testing import Scenario

ONE_CPU: Final = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
LEAVING: Final = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}


def pods(*kinds: str) -> list[dict[str, Any]]:
    """Pods of the group, by phase; `leaving` ones are being deleted, on a node or on none."""
    made = []
    for number, kind in enumerate(kinds):
        phase, _, where = kind.partition("/")
        made.append(
            {
                "kind": "Pod",
                "metadata": {
                    "name": f"a-{number}",
                    "namespace": "default",
                    "annotations": {"scheduling.k8s.io/group-name": "a"},
                    **(LEAVING if phase == "leaving" else {}),
                },
                "spec": {"schedulerName": "volcano", "nodeName": where, "containers": [ONE_CPU]},
                "status": {"phase": {"leaving": "Running" if where else "Pending"}.get(phase, phase)},
            }
        )
    return made


@pytest.mark.parametrize(
    ("minimum", "before", "kinds", "after"),
    [
        (1, "Running", ["leaving/n1"], "Running"),
        (2, "Running", ["Running/n1", "leaving/n1"], "Running"),
        (2, "Running", ["leaving/n1", "leaving/n1"], "Running"),
        (2, "Pending", ["leaving/", "Pending/"], "Pending"),
        (2, "Running", ["Succeeded/n1", "Succeeded/n1"], "Completed"),
        (2, "Running", ["Failed/n1", "Failed/n1"], "Completed"),
        (2, "Running", ["Succeeded/n1", "Running/n1"], "Running"),
        (2, "Running", ["leaving/n1"], "Pending"),
        (2, "Running", ["Running/n1", "Pending/"], "Unknown"),
        (2, "Inqueue", ["Pending/", "Pending/"], "Inqueue"),
        (2, "Inqueue", [], "Inqueue"),
        (0, "Running", [], "Pending"),
    ],
)
def test_a_phase_follows_from_the_pods_and_the_phase_before(
    minimum: int, before: str, kinds: list[str], after: str
) -> None:
    """Pods that run, have run or terminate count; if some run and the minimum finds no place it is Unknown."""
    there = Scenario().node("n1", pods=0).job("a", tasks=0, min_available=minimum, phase=before).add(*pods(*kinds))

    assert there.run("backfill", plugins=("gang", "predicates")).phases == {"a": after}
