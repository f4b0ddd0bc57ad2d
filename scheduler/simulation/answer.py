"""Answers: the results of rounds as JSON values, with sorted mappings."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Bind, Nomination, Plan
from pyroclast.model.refusals import Refusal
from pyroclast.model.report import JobShare
from pyroclast.model.requests import resource_list
from pyroclast.scheduler.monitoring.examinations import examination_json
from pyroclast.scheduler.simulation.rounds import SimulatedRound

__all__ = ["amounts_in_words", "answers_of", "share_in_words"]


def answers_of(rounds: Sequence[SimulatedRound]) -> list[dict[str, Any]]:
    """Return the results of rounds."""
    return [_round(each) for each in rounds]


def _round(done: SimulatedRound) -> dict[str, Any]:
    report, names = done.report, done.pod_names
    answer: dict[str, Any] = {
        "binds": _sorted({names[each.task]: each.node for plan in done.plans for each in plan.binds}),
        "evictions": sorted(f"{each.namespace}/{each.name}" for plan in done.plans for each in plan.evictions),
        "pipelined": _sorted(
            {
                job: _sorted({names[task]: node for task, node in places.items()})
                for job, places in report.pipelined.items()
            }
        ),
        "phases": _sorted({job: phase.value for job, phase in report.phases.items()}),
        "taskStatusCounts": _sorted({job: dict(counts) for job, counts in report.status_counts.items()}),
        "beneficiaries": _beneficiaries(done.plans),
        "refusals": _sorted({job: [_refusal(each) for each in why] for job, why in report.refusals.items()}),
        "podRefusals": _sorted(
            {names[task]: [_refusal(each) for each in why] for task, why in report.task_refusals.items()}
        ),
        "vetoes": _sorted({names[task]: _vetoes(why, names) for task, why in report.vetoes.items()}),
        "shares": _sorted({job: share_in_words(share) for job, share in report.shares.items()}),
    }
    if done.examinations:
        answer["explained"] = [examination_json(each) for each in done.examinations]
    return answer


def _sorted(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): mapping[key] for key in sorted(mapping)}


def _beneficiaries(plans: Sequence[Plan]) -> dict[str, list[str]]:
    """Return, for each evicted pod, the pods that its plan places."""
    served: dict[str, list[str]] = {}
    for plan in plans:
        placed = _pods(plan.binds) | _pods(plan.nominations)
        for victim in plan.evictions:
            served[f"{victim.namespace}/{victim.name}"] = sorted(placed)
    return _sorted(served)


def _pods(decisions: Sequence[Bind] | Sequence[Nomination]) -> set[str]:
    return {f"{each.namespace}/{each.name}" for each in decisions}


def _refusal(refusal: Refusal) -> dict[str, Any]:
    refusal_values = {
        "reason": refusal.reason,
        "plugin": refusal.plugin,
        "counts": _sorted(refusal.counts),
        "message": refusal.text,
    }
    if refusal.action:
        refusal_values["action"] = refusal.action
    if refusal.fits_when:
        refusal_values["fitsWhen"] = list(refusal.fits_when)
    if refusal.amounts:
        refusal_values["amounts"] = amounts_in_words(refusal)
    return refusal_values


def amounts_in_words(refusal: Refusal) -> dict[str, dict[str, str]]:
    """Return the requested and the available amount of each resource."""
    requested, available = (
        resource_list({name: pair[side] for name, pair in refusal.amounts.items()}) for side in (0, 1)
    )
    return {name: {"requested": requested[name], "available": available[name]} for name in sorted(refusal.amounts)}


def _vetoes(vetoes: Sequence[tuple[TaskId, Refusal]], names: Mapping[TaskId, str]) -> list[dict[str, Any]]:
    return [
        {
            "beneficiary": names[beneficiary],
            "plugin": refusal.plugin,
            "reason": refusal.reason,
            "message": refusal.text,
        }
        for beneficiary, refusal in vetoes
    ]


def share_in_words(share: JobShare) -> dict[str, Any]:
    """Return the dominant resource of a job, and the job's allocation as quantities."""
    return {"resource": share.resource, "share": share.share, "allocated": resource_list(share.allocated)}
