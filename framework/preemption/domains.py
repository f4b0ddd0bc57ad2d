"""Domains: the topology domains in which pods may be evicted, best first."""

from collections.abc import Iterable
from dataclasses import dataclass

from pyroclast.framework.session.session import Session
from pyroclast.framework.state.domains import EVICT
from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.model.arrays import BoolArray

__all__ = ["VictimDomain", "domains_of", "masks_for", "numbers_for"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VictimDomain:
    """A domain that a gang may use."""

    number: int
    """Number in the tree of domains; the root's if the gang may use all nodes."""
    mask: BoolArray | None
    """Its nodes, shape (N,); all if None."""


def domains_of(session: Session, job: SessionJob, most: int) -> list[VictimDomain]:
    """Return the domains that a gang may use; all nodes if it has no topology constraint.

    Args:
        session: The session.
        job: The gang.
        most: How many domains are enough.
    """
    domains = session.topology.domains_of(job)
    tree = domains.topology
    numbers = _flat(session.topology.gradients_for_job(job, tree.root, EVICT))[:most]
    if not numbers and domains.limit_of_job(job) is None:
        return [VictimDomain(number=tree.root, mask=None)]
    return [VictimDomain(number=number, mask=domains.mask(number)) for number in numbers]


def masks_for(session: Session, part: SubJob, domain: VictimDomain) -> list[BoolArray | None]:
    """Return the nodes that a sub-job may use inside its job's domain."""
    if not _has_own_domains(session, part):
        return [domain.mask]
    return [session.topology.domains.mask(number) for number in numbers_for(session, part, domain)]


def numbers_for(session: Session, part: SubJob, domain: VictimDomain) -> list[int]:
    """Return the domains that a sub-job may use inside its job's domain, best first."""
    if not _has_own_domains(session, part):
        return [domain.number]
    return _flat(session.topology.gradients_for_part(part, domain.number, EVICT))


def _has_own_domains(session: Session, part: SubJob) -> bool:
    return part.job.has_sub_group_policy and session.topology.domains.limit_of_part(part) is not None


def _flat(levels: Iterable[Iterable[int]]) -> list[int]:
    """Return domains by level as one list, each once."""
    return list(dict.fromkeys(number for level in levels for number in level))
