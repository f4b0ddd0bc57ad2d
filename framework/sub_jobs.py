"""Sub-jobs: how a PodGroup's `subGroupPolicy` divides its tasks.

A task belongs to the first policy whose label selector matches it and whose `matchLabelKeys` it carries with values;
the values make the sub-group. A policy with a selector alone makes one sub-group of the pods it selects. Tasks of no
policy form the rest, named like the job.
"""

from collections.abc import Mapping
from typing import Final

from model.ids import JobId, SubJobId
from model.tasks import Task
from model.wire import LabelSelector, SubGroupPolicy

__all__ = ["group_of", "sub_job_of"]

_LONGEST_VALUES: Final = 128
_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193


def group_of(job: JobId, policy: SubGroupPolicy) -> str:
    """Return the id of a policy's group of sub-jobs."""
    return f"{job}/{policy.name}"


def sub_job_of(job: JobId, policies: tuple[SubGroupPolicy, ...], task: Task) -> tuple[SubJobId, SubGroupPolicy | None]:
    """Return the sub-job that a task belongs to, and the policy that made it (None for the rest)."""
    labels = task.pod.metadata.labels
    for policy in policies:
        if policy.label_selector is not None and not selects(policy.label_selector, labels):
            continue
        values = [labels.get(key, "") for key in policy.match_label_keys]
        if not all(values) or (not values and policy.label_selector is None):
            continue
        joined = "-".join(values)
        if len(joined) > _LONGEST_VALUES:
            joined = f"{_fnv32a(joined):08x}"
        return SubJobId(f"{job}/{policy.name}-{joined}" if joined else f"{job}/{policy.name}"), policy
    return SubJobId(job), None


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Tell whether a label selector matches; one that cannot be understood matches nothing."""
    if any(labels.get(key) != value for key, value in selector.match_labels.items()):
        return False
    return all(_holds(each.operator, labels.get(each.key), each.values) for each in selector.match_expressions)


def _holds(operator: str, value: str | None, values: tuple[str, ...]) -> bool:
    match operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False


def _fnv32a(text: str) -> int:
    code = _FNV_OFFSET
    for byte in text.encode():
        code = ((code ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return code
