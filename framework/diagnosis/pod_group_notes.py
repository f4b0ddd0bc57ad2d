"""PodGroup notes: events about fields of a PodGroup that have another effect than their owner may expect.

An event is recorded when a note is new, not once a cycle. Faults that admission refuses are noted too, because not
every cluster runs the admission webhook.
"""

from collections.abc import Iterator

from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.sub_jobs import group_of
from pyroclast.model.group_notes import selector_faults, topology_faults, topology_notes

__all__ = ["record_group_notes"]


def record_group_notes(session: Session, job: SessionJob) -> None:
    """Record an event for each note about a PodGroup, each note once."""
    if not (job.has_topology or job.has_sub_group_policy or job.job.lacks_priority_class):
        return
    for reason, text in _notes(job):
        if session.report.is_news(f"PodGroup/{reason}/{text}", text, job=job.id):
            session.report.group_event(job, "Warning", reason, text)


def _notes(job: SessionJob) -> Iterator[tuple[str, str]]:
    spec = job.job.group.spec
    if job.job.lacks_priority_class:
        text = f"there is no PriorityClass {spec.priority_class_name!r}; the priority is {job.priority}"
        yield "NoPriorityClass", f"spec.priorityClassName: {text}"
    topologies = [(spec.network_topology, "spec.networkTopology")]
    for number, policy in enumerate(spec.sub_group_policy):
        path = f"spec.subGroupPolicy[{number}]"
        topologies.append((policy.network_topology, f"{path}.networkTopology"))
        for fault in selector_faults(policy, path):
            yield "UnreadableSelector", str(fault)
    for topology, path in topologies:
        for note in topology_faults(topology, path):
            yield "UnknownTopologyMode", str(note)
        for note in topology_notes(topology, path):
            yield "TopologyWithoutTier", str(note)
    if job.has_sub_group_policy and job.valid_count >= max(job.min_available, 1):  # before, pods may still be made
        yield from _of_pods(job)


def _of_pods(job: SessionJob) -> Iterator[tuple[str, str]]:
    made = {part.group: part for part in job.sub_jobs.values()}
    for number, policy in enumerate(job.job.group.spec.sub_group_policy):
        path = f"spec.subGroupPolicy[{number}]"
        if group_of(job.id, policy) not in made and not any(selector_faults(policy, path)):
            yield "SelectsNoPod", f"{path}: none of {len(job.tasks)} pods is in a sub-group of {policy.name!r}"
    rest = made.get(job.id)
    if rest is not None:
        yield "NoSubGroup", f"spec.subGroupPolicy: {rest.size} of {len(job.tasks)} pods are in no sub-group"
