"""Profiles: what the sessions of one cycle share, where a process serves several profiles.

One session for each profile, in the order of the file. Each has a snapshot with the plans of those before it, and a
memory of its own. Places that are held for preemptors are known to all, so that no profile gives away what another one
has won.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from pyroclast.framework.session.held import HeldCapacity
from pyroclast.framework.session.memory import Memory
from pyroclast.model.report import CycleReport

__all__ = ["merged_reports", "with_held"]


def with_held(memories: Mapping[str, Memory], held: tuple[HeldCapacity, ...] | None) -> dict[str, Memory]:
    """Return memories with the capacity that the last session holds."""
    return {name: replace(memory, held=held) for name, memory in memories.items()}


def merged_reports(reports: Sequence[CycleReport]) -> CycleReport:
    """Return one report with the results of all sessions of a cycle; at least one.

    Of what several sessions say about one thing, such as the share of a job, the last one counts.
    """
    first = reports[0]
    if len(reports) == 1:
        return first
    return replace(
        first,
        plans=tuple(plan for each in reports for plan in each.plans),
        pipelined={job: places for each in reports for job, places in each.pipelined.items()},
        phases={job: phase for each in reports for job, phase in each.phases.items()},
        group_statuses=tuple(status for each in reports for status in each.group_statuses),
        native_statuses=tuple(status for each in reports for status in each.native_statuses),
        pod_conditions=tuple(condition for each in reports for condition in each.pod_conditions),
        queue_statuses=tuple({status.queue: status for each in reports for status in each.queue_statuses}.values()),
        events=tuple(event for each in reports for event in each.events),
        refusals={job: why for each in reports for job, why in each.refusals.items()},
        task_refusals={task: why for each in reports for task, why in each.task_refusals.items()},
        vetoes={task: why for each in reports for task, why in each.vetoes.items()},
        shares={job: share for each in reports for job, share in each.shares.items()},
        status_counts={job: counts for each in reports for job, counts in each.status_counts.items()},
        samples=tuple(sample for each in reports for sample in each.samples),
        failures={plugin: why for each in reports for plugin, why in each.failures.items()},
        quotas=next((each.quotas for each in reversed(reports) if each.quotas), ()),
        gates_lifted=tuple(task for each in reports for task in each.gates_lifted),
    )
