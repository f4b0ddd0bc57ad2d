"""Examinations for people: which pods a name means, and their scores and refusals as JSON values and as tables."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyroclast.model.examination import Examination, NodeRefusal, NodeScores
from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.jobs import Job
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task

__all__ = [
    "DEFAULT_NODES",
    "Explain",
    "chooser",
    "examination_json",
    "examination_text",
    "job_named",
    "names_in",
]

DEFAULT_NODES: Final = 10
"""Number of nodes in a table if none is given."""
_GAP: Final = "   "


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """Pods whose nodes are to be explained."""

    names: frozenset[str]
    """`namespace/name` of pods, PodGroups, Jobs or gangs."""
    node_limit: int = DEFAULT_NODES
    """Maximum number of nodes in each table."""


def job_named(name: str, snapshot: Snapshot) -> Job | None:
    """Return the job of a name.

    Args:
        name: `namespace/name` of a PodGroup, of the object that controls it (a Job), or of a gang.
        snapshot: The cluster.

    Returns:
        None if there is no such job. If a controller has several, the first by the name of its PodGroup.
    """
    known = snapshot.jobs.get(JobId(name))
    if known is not None:
        return known
    return next((job for job in snapshot.jobs.values() if _is_called(job, name, snapshot)), None)


def _is_called(job: Job, name: str, snapshot: Snapshot) -> bool:
    if job.lasting_name == name:
        return True
    group = snapshot.gangs.get(job.id)
    return group is not None and any(gang.id == name for gang in group.gangs)


def names_in(snapshot: Snapshot, names: Collection[str]) -> frozenset[TaskId]:
    """Return the pods that are called `namespace/name`, or that belong to jobs of these names."""
    jobs = {job.id for name in names if (job := job_named(name, snapshot)) is not None}
    return frozenset(
        task.id for job in snapshot.jobs.values() for task in job.tasks.values() if task.key in names or job.id in jobs
    )


def chooser(tasks: Collection[TaskId]) -> Callable[[Task], bool]:
    """Return a function that chooses tasks by their ids."""
    return lambda task: task.id in tasks


def examination_json(each: Examination) -> dict[str, Any]:
    """Return an examination as JSON values."""
    return {
        "pod": each.pod,
        "job": each.job,
        "profile": each.profile,
        "cycle": each.cycle,
        "moment": each.moment,
        "action": each.action,
        "node": each.node,
        "nodes": each.node_count,
        "candidates": each.candidate_count,
        "plugins": [{"plugin": column.plugin, "part": column.part, "weight": column.weight} for column in each.columns],
        "scores": [_scores(each, score) for score in each.scores],
        "refusals": [_refusal(refusal) for refusal in each.refusals],
        "notAsked": list(each.not_asked),
    }


def _scores(examination: Examination, score: NodeScores) -> dict[str, Any]:
    return {
        "node": score.node,
        "total": score.total,
        "weighted": {column.label: value for column, value in zip(examination.columns, score.weighted, strict=True)},
        "raw": {
            column.label: value / column.weight if column.weight else value
            for column, value in zip(examination.columns, score.weighted, strict=True)
        },
    }


def _refusal(refusal: NodeRefusal) -> dict[str, Any]:
    return {
        "plugin": refusal.plugin,
        "reason": refusal.reason,
        "resolvable": refusal.resolvable,
        "count": refusal.count,
        "nodes": list(refusal.nodes),
    }


def examination_text(each: Mapping[str, Any]) -> str:
    """Return an examination, given as `examination_json` returns it, as text with two tables."""
    return "\n".join([_headline(each), *_score_table(each), *_refusal_table(each), *_notes(each)])


def _headline(each: Mapping[str, Any]) -> str:
    where = f" on {each['node']}" if each["node"] else ""
    by = f" by {each['action']}" if each["action"] else ""
    profile = f", profile {each['profile']}" if each["profile"] else ""
    return f"{each['pod']}: {each['moment']}{where}{by} (cycle {each['cycle']}{profile})"


def _score_table(each: Mapping[str, Any]) -> Iterator[str]:
    if not each["scores"]:
        yield f"  no candidate among {each['nodes']} nodes"
        return
    yield f"  {each['candidates']} candidates among {each['nodes']} nodes; score without weight x weight"
    labels = list(each["scores"][0]["weighted"])
    weights = {label: column["weight"] for label, column in zip(labels, each["plugins"], strict=True)}
    head = ["NODE", "TOTAL", *(label.upper() for label in labels)]
    body = [
        [
            f"{score['node']}{' *' if score['node'] == each['node'] else ''}",
            f"{score['total']:g}",
            *(f"{score['raw'][label]:g} x {weights[label]:g}" for label in labels),
        ]
        for score in each["scores"]
    ]
    yield from _rows([head, *body])


def _refusal_table(each: Mapping[str, Any]) -> Iterator[str]:
    if each["refusals"]:
        yield "  refused:"
        body = [
            [
                str(refusal["count"]),
                refusal["plugin"],
                refusal["reason"],
                ", ".join(refusal["nodes"]) + (", …" if len(refusal["nodes"]) < refusal["count"] else ""),
            ]
            for refusal in each["refusals"]
        ]
        yield from _rows([["NODES", "PLUGIN", "REASON", "NAMES"], *body])


def _notes(each: Mapping[str, Any]) -> Iterator[str]:
    if each["notAsked"]:
        yield f"  not asked, since another process answers: {', '.join(each['notAsked'])}"


def _rows(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the rows of a table, indented. The last column is not padded."""
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]) - 1)]
    for row in cells:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "    " + _GAP.join([*padded, row[-1]])
