"""Topologies that nobody would keep to: a required rule is kept or refused, by every action that places tasks."""

from framework.domains import hard_without_plugin
from framework.jobs import SessionJob
from framework.session import Session
from model.refusals import Refusal

__all__ = ["unserved_topology"]


def unserved_topology(session: Session, job: SessionJob) -> Refusal | None:
    """Refuse a job with a hard topology that nobody would keep to, or that names a tier which there is not."""
    if session.serves_topology:
        return session.domains.unknown_tier(job)
    if not hard_without_plugin(job):
        return None
    message = "a hard network topology needs the plugin network-topology-aware, which is not configured"
    return Refusal(plugin="allocate", reason="TopologyNotServed", message=message, resolvable=False)
