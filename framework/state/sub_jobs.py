"""Sub-jobs: how a PodGroup's `subGroupPolicy` divides its tasks.

A task belongs to the first policy whose label selector matches it and whose `matchLabelKeys` it carries with values;
the values make the sub-group. A policy with a selector alone makes one sub-group of the pods it selects. Tasks of no
policy form the rest, named like the job.
"""

from collections.abc import Sequence
from typing import Final

from pyroclast.model.ids import JobId, SubJobId
from pyroclast.model.matching.selectors import Selector
from pyroclast.model.tasks import Task
from pyroclast.model.wire import SubGroupPolicySpec

__all__ = ["SubJobDivision", "group_of"]

_LONGEST_VALUES: Final = 128
_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193


def group_of(job: JobId, policy: SubGroupPolicySpec) -> str:
    """Return the id of a policy's group of sub-jobs."""
    return f"{job}/{policy.name}"


class SubJobDivision:
    """Division of the tasks of one PodGroup by its policies."""

    __slots__ = ("_job", "_policies")

    def __init__(self, job: JobId, policies: Sequence[SubGroupPolicySpec]) -> None:
        self._job = job
        self._policies = [
            (policy, None if policy.label_selector is None else Selector.of(policy.label_selector))
            for policy in policies
        ]

    def place_of(self, task: Task) -> tuple[SubJobId, SubGroupPolicySpec | None, str]:
        """Return the sub-job that a task belongs to, the policy that made it (None for the rest), its first value."""
        labels = task.pod.metadata.labels
        for policy, selector in self._policies:
            if selector is not None and not selector.matches(labels):
                continue
            values = [labels.get(key, "") for key in policy.match_label_keys]
            if not all(values) or (not values and selector is None):
                continue
            joined = "-".join(values)
            if len(joined) > _LONGEST_VALUES:
                joined = f"{_fnv32a(joined):08x}"
            name = f"{policy.name}-{joined}" if joined else policy.name
            return SubJobId(f"{self._job}/{name}"), policy, values[0] if values else ""
        return SubJobId(self._job), None, ""


def _fnv32a(text: str) -> int:
    code = _FNV_OFFSET
    for byte in text.encode():
        code = ((code ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return code
