"""Tables: placed, waiting and evicted pods."""

from collections.abc import Iterator, Sequence

from pyroclast.scheduler.monitoring.examinations import examination_text
from pyroclast.scheduler.simulation.answer import answers_of
from pyroclast.scheduler.simulation.rounds import SimulatedRound

__all__ = ["table"]

_GAP = "   "


def table(rounds: Sequence[SimulatedRound]) -> str:
    """Return the results of rounds as text."""
    lines: list[str] = []
    for number, done in enumerate(rounds, start=1):
        if len(rounds) > 1:
            lines += [f"=== cycle {number} ===", ""]
        lines += _round(done)
    return "\n".join(lines).rstrip()


def _round(done: SimulatedRound) -> Iterator[str]:
    answer = answers_of([done])[0]
    job_of = _jobs_by_pod(done)
    binds = [(pod, job_of.get(pod, "-"), node) for pod, node in answer["binds"].items()]
    yield from _part(f"Placed: {len(binds)}", ("POD", "GROUP", "NODE"), binds)
    evicted = [(pod, ", ".join(answer["beneficiaries"].get(pod, ())) or "-") for pod in answer["evictions"]]
    if evicted:
        yield from _part(f"Evicted: {len(evicted)}", ("POD", "FOR"), evicted)
    held = [(pod, job, node) for job, places in answer["pipelined"].items() for pod, node in places.items()]
    if held:
        yield from _part(f"Waiting for resources to be released: {len(held)}", ("POD", "GROUP", "NODE"), held)
    waiting = list(_waiting(done))
    if waiting:
        yield from _part(f"Waiting: {len(waiting)}", ("POD", "GROUP", "WHY"), waiting)
    groups = [
        (job, phase, _counts(answer["taskStatusCounts"].get(job, {})), done.snapshot.jobs[job].queue)
        for job, phase in answer["phases"].items()
    ]
    if groups:
        yield from _part(f"Groups: {len(groups)}", ("GROUP", "PHASE", "TASKS", "QUEUE"), groups)
    for explained in answer.get("explained", ()):
        yield from (examination_text(explained), "")


def _jobs_by_pod(done: SimulatedRound) -> dict[str, str]:
    return {task.key: job.id for job in done.snapshot.jobs.values() for task in job.tasks.values()}


def _waiting(done: SimulatedRound) -> Iterator[tuple[str, str, str]]:
    """Iterate over pending pods with the message of their condition, or else the first reason of their job."""
    report = done.report
    placed = {bind.task for plan in done.plans for bind in plan.binds}
    placed |= {task for places in report.pipelined.values() for task in places}
    message_by_task = {each.task: each.message for each in report.pod_conditions}
    tasks = [task for job in done.snapshot.jobs.values() for task in job.tasks.values()]
    for task in [*tasks, *(orphan.task for orphan in done.snapshot.orphan_pods)]:
        if task.status.label != "Pending" or task.id in placed:
            continue
        of_job = report.refusals.get(task.job, ()) if task.job else ()
        refusals = [each for each in (*of_job, *report.task_refusals.get(task.id, ())) if not each.action]
        earlier_messages = [each.message for each in task.pod.status.conditions if each.type == "PodScheduled"]
        reasons = [each.message or each.reason for each in refusals] or [
            message_by_task.get(task.id, ""),
            *earlier_messages,
        ]
        reason = next((reason for reason in reasons if reason), "not tried yet")
        evictions = [f"{each.action}: {each.message}" for each in of_job if each.action] if refusals else []
        yield task.key, str(task.job or "-"), ". ".join([reason.rstrip("."), *evictions]) if evictions else reason


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {status}" for status, count in counts.items()) or "none"


def _part(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return the lines of a titled table. The last column is not padded."""
    yield title
    if rows:
        widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head) - 1)]
        for row in (head, *rows):
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
            yield "  " + _GAP.join([*cells, row[-1]])
    yield ""
