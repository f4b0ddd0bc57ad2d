"""Required topologies: the domains in which a task of a job may be placed."""

from pyroclast.framework.session.session import Session
from pyroclast.framework.state.domains import asks_for_hard_topology
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["nodes_by_topology", "unserved_topology"]


def unserved_topology(session: Session, job: SessionJob) -> Refusal | None:
    """Refuse a job with a hard topology that no plugin enforces, or that names an unknown tier or layer."""
    if job.topology_key:
        return None
    if session.topology.gathering_of(job) is not None:
        lacking = session.topology.lacking_layers(job)
        message = f"its network topology cannot be kept to: {lacking}"
        return Refusal(plugin="allocate", reason="UnknownLayer", message=message, resolvable=False) if lacking else None
    if session.topology.is_served:
        return session.topology.domains.unknown_tier(job)
    if not asks_for_hard_topology(job):
        return None
    message = "a hard network topology needs the plugin network-topology-aware, which is not configured"
    return Refusal(plugin="allocate", reason="TopologyNotServed", message=message, resolvable=False)


def nodes_by_topology(
    session: Session, job: SessionJob, task: Task, places: IntArray | None = None
) -> BoolArray | None:
    """Return where its topology lets one more task of a job run, shape (N,); see `Domains.beside`."""
    part = job.part_of(task) if job.has_topology and session.topology.serves(job) else None
    return None if part is None else session.topology.domains_of(job).beside(part, places)
