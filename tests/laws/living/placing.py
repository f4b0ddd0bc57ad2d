"""Laws of admitting and placing, read from a configuration and the objects of a snapshot, wherever these come from."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from pyroclast.framework.configuration import PluginOption, Profile
from pyroclast.model import wire
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.ids import JobId, NodeName, QueueName
from pyroclast.model.jobs import Job
from pyroclast.model.quantity import parse
from pyroclast.model.queues import with_ancestors
from pyroclast.model.report import CycleReport
from pyroclast.model.resources import MILLI
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["misplaced"]

DAY: Final = 24 * 60 * 60
FRESH_SECONDS: Final = 300.0
"""Age at which a measurement says nothing any more."""
GROUP_LABEL: Final = "volcano.sh/nodegroup-name"
WINDOW: Final = "tdm.revocable-zone."
Place = tuple[Job, Task, NodeName]


def misplaced(before: Snapshot, report: CycleReport, profile: Profile, now: float) -> Iterator[str]:
    """Say what a cycle admitted, bound or nominated that a plugin of its configuration forbids.

    Args:
        before: The cluster before the cycle.
        report: Report of the cycle.
        profile: What held for it.
        now: Its moment.
    """
    options = {option.plugin: option for option in profile.plugins}
    places = list(_places(before, report))
    # sla admits who has waited too long, whatever stands behind it
    if "resourcequota" in options and "sla" not in options and "enqueue" in profile.actions:
        yield from _beyond_quotas(before, report)
    if "tdm" in options:
        yield from _in_closed_zones(before, places, options["tdm"].arguments, now)
    if "nodegroup" in options:
        yield from _outside_groups(before, places, options["nodegroup"])
    if "usage" in options:
        yield from _on_loaded_nodes(before, places, options["usage"].arguments, now)
    if "load-aware" in options:
        yield from _above_thresholds(before, places, options["load-aware"].arguments, now)


def _places(before: Snapshot, report: CycleReport) -> Iterator[Place]:
    jobs = {task.id: (job, task) for job in before.jobs.values() for task in job.tasks.values()}
    for plan in report.plans:
        chosen = [(each.task, each.node) for each in plan.binds] + [(each.task, each.node) for each in plan.nominations]
        yield from ((*jobs[task], node) for task, node in chosen)


def _beyond_quotas(before: Snapshot, report: CycleReport) -> Iterator[str]:
    """What quotas do not count yet of the admitted minimums fits beside what is used into every quota of the namespace.

    A job that ran, lost its minimum and has it again passes no gate.
    """
    admitted: dict[str, Counter[str]] = defaultdict(Counter)
    for status in report.group_statuses:
        job = before.jobs.get(JobId(status.job))
        if job is not None and job.phase is PodGroupPhase.PENDING and status.phase is PodGroupPhase.INQUEUE:
            asked = job.group.spec.min_resources or {}
            own = {name: sum(_own(task, name) for task in job.tasks.values()) for name in asked}
            admitted[job.namespace].update(
                {name: max(parse(amount) - own[name], Fraction(0)) for name, amount in asked.items()}
            )
    for quota in before.objects.resource_quotas.values():
        for name, amount in admitted[quota.metadata.namespace].items():
            total, hard = amount + _amount(quota.status.used, name), quota.status.hard.get(name)
            if amount and hard is not None and total > parse(hard):
                yield f"quota {quota.metadata.key}: {float(total)} of {hard} {name} are used with what was admitted"


def _own(task: Task, name: str) -> Fraction:
    """What the quota counts of a pod that exists."""
    ended = task.status in (TaskStatus.SUCCEEDED, TaskStatus.FAILED)
    return Fraction(0) if ended else Fraction(task.template.request.get(name, 0), MILLI)


def _amount(amounts: wire.ResourceList, name: str) -> Fraction:
    return parse(amounts.get(name, "0"))


def _in_closed_zones(
    before: Snapshot, places: list[Place], arguments: Mapping[str, object], now: float
) -> Iterator[str]:
    """Nodes that can be taken back are used in their window, by tasks that said so."""
    for _, task, node in places:
        zone = before.nodes.facts.nodes[before.nodes.column[node]].revocable_zone
        if zone and not task.revocable_zone:
            yield f"{task.name} is placed on {node} of zone {zone} and did not ask for that"
        elif zone and not _is_open(str(arguments.get(f"{WINDOW}{zone}", "")), int(now) % DAY):
            yield f"{task.name} is placed on {node} while zone {zone} is closed"


def _is_open(window: str, second: int) -> bool:
    """Return whether a window holds a second of the day, both its ends included; no window is never open."""
    if not window:
        return False
    begin, end = (
        sum(60 * int(part) * weight for part, weight in zip(text.split(":"), (60, 1), strict=True))
        for text in window.split("-")
    )
    return begin <= second <= end if begin < end else second >= begin or second <= end


def _outside_groups(before: Snapshot, places: list[Place], option: PluginOption) -> Iterator[str]:
    """Queues use the groups of nodes that they, or the nearest above them with terms of its own, may use."""
    is_strict = option.arguments.get("strict", True)
    for job, task, node in places:
        group = before.nodes.facts.nodes[before.nodes.column[node]].object.metadata.labels.get(GROUP_LABEL)  # type: ignore[union-attr]  # nodes here are objects
        affinity = _affinity(before, job.queue, is_tree=option.hierarchy)
        if group is None:
            allowed = affinity is None and not is_strict
        else:
            allowed = affinity is not None and _allows(affinity, group)
        if not allowed:
            yield f"{task.name} of queue {job.queue} is placed on {node} of group {group}"


def _affinity(before: Snapshot, queue: QueueName, *, is_tree: bool) -> wire.QueueAffinity | None:
    line = list(with_ancestors(before.queues, queue)) if is_tree else [queue]
    objects = [before.queues[name].object for name in line]
    return next((each.spec.affinity for each in objects if each is not None and each.spec.affinity is not None), None)


def _allows(affinity: wire.QueueAffinity, group: str) -> bool:
    wanted = affinity.node_group_affinity or wire.NodeGroupTerms()
    shunned = affinity.node_group_anti_affinity or wire.NodeGroupTerms()
    if group in shunned.preferred:
        return True
    return group in {*wanted.required, *wanted.preferred} - set(shunned.required)


def _on_loaded_nodes(
    before: Snapshot, places: list[Place], arguments: Mapping[str, object], now: float
) -> Iterator[str]:
    """Nodes that were measured above a limit accept no pods."""
    limits = arguments.get("thresholds") or {}
    assert isinstance(limits, Mapping)
    for _, task, node in places:
        usage = before.usage.get(node)
        if usage is None or usage.measured < now - FRESH_SECONDS:
            continue
        if usage.cpu_percent > limits.get("cpu", 80) or usage.memory_percent > limits.get("mem", 80):
            yield f"{task.name} is placed on {node}, which is loaded to {usage.cpu_percent} %, {usage.memory_percent} %"


def _above_thresholds(before: Snapshot, places: list[Place], arguments: Mapping[str, Any], now: float) -> Iterator[str]:
    """What was measured of a node lately, without any estimate, lets it take more; and it was measured lately."""
    thresholds = arguments.get("usageThresholds") or {"cpu": 65, "memory": 95}
    for _, task, node in places:
        load = before.loads.get(node)
        if load is None or load.usage is None:
            continue
        if load.measured is None or now - load.measured >= arguments.get("nodeMetricExpirationSeconds", 180):
            yield f"{task.name} is placed on {node}, of which nobody knows what it uses now"
        for name, threshold in thresholds.items():
            offered = before.nodes.facts.nodes[before.nodes.column[node]].allocatable[name]
            part = load.usage.get(name, 0) * (100 if name == "cpu" else 100 * 1000) / offered
            if part >= threshold + 0.5:
                yield f"{task.name} is placed on {node}, which uses {part} % of its {name}"
