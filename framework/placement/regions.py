"""Regions: on which nodes the members of a gang may lie together.

Network topologies confine a gang, and each of its sub-groups, to domains. Required pod affinity among members confines
them to one domain of its topology key, which the first member chooses for the others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from framework import points
from framework.domains import ALLOCATE
from framework.jobs import SessionJob
from framework.placement.members import Masks, Members, problem_of
from framework.placement.problem import AssignmentProblem
from framework.placement.tree_search import TreeSearch, tightest_first
from framework.placing_in_domains import goes_by_domains
from framework.session import Session
from model.arrays import IntArray
from model.ids import SubJobId
from model.matching.selectors import Selector
from model.tasks import Task
from model.wire import PodAffinityTerm

__all__ = ["confined", "regions_of"]

_STEPS: Final = 50
"""Placements that may be taken back when sub-groups are looked at on the way to a region."""


def regions_of(session: Session, job: SessionJob, members: Members, room: IntArray, *, root: int) -> Iterator[Masks]:
    """Yield where the sub-jobs of a job may lie, best first; once without limits where no topology asks for them."""
    if not (session.serves_topology and goes_by_domains(session, job)):
        yield {}
        return
    for level in session.gradients_for_job(job, root, ALLOCATE):
        if job.has_sub_group_policy:
            for number in level:
                yield from _inside(session, job, members, room, number)
        else:
            yield from _whole(session, job, level, root)


def _whole(session: Session, job: SessionJob, level: Sequence[int], root: int) -> Iterator[Masks]:
    """Yield the domains of a level for a job that nothing divides, best score first."""
    part = next(iter(job.sub_jobs.values()))
    fit = level
    if session.functions(points.HYPER_NODE_GRADIENT_FOR_SUB_JOB):
        inner = {number for each in session.gradients_for_part(part, root, ALLOCATE) for number in each}
        fit = [number for number in level if number in inner]
    scores = session.domain_scores(part, fit)
    for at in np.argsort(-scores, kind="stable").tolist():
        yield {part.id: session.domains.mask(fit[at])}


def _inside(session: Session, job: SessionJob, members: Members, room: IntArray, number: int) -> Iterator[Masks]:
    """Yield one domain for each sub-job with members, all inside a domain, where they have places together."""
    ids = dict.fromkeys(part for part in members.parts if part is not None)
    options = {
        part: [inner for level in session.gradients_for_part(job.sub_jobs[part], number, ALLOCATE) for inner in level]
        for part in ids
    }
    order = sorted(ids, key=lambda part: (len(options[part]), -_size_of(members, part), part))

    def extend(chosen: dict[SubJobId, int]) -> Iterator[dict[SubJobId, int]]:
        if len(chosen) == len(order):
            yield chosen
            return
        part = order[len(chosen)]
        for inner in options[part]:
            wider = {**chosen, part: inner}
            if _holds(session, members, room, {each: session.domains.mask(at) for each, at in wider.items()}):
                yield from extend(wider)

    for chosen in extend({}):
        yield {part: session.domains.mask(at) for part, at in chosen.items()}


def _size_of(members: Members, part: SubJobId) -> int:
    return sum(len(kind) for kind, of in zip(members.kinds, members.parts, strict=True) if of == part)


def _holds(session: Session, members: Members, room: IntArray, masks: Masks) -> bool:
    """Return whether the members of the sub-jobs that masks name have places together, as far as nodes tell."""
    chosen = [(kind, part) for kind, part in zip(members.kinds, members.parts, strict=True) if part in masks]
    some = Members(kinds=[kind for kind, _ in chosen], parts=[part for _, part in chosen], is_plain=members.is_plain)
    search = TreeSearch(problem_of(session, some, room, masks))
    is_found = search.run(tightest_first, some.size + _STEPS)
    session.search_steps += search.steps
    return is_found is not False


def confined(session: Session, members: Members, problem: AssignmentProblem) -> tuple[list[AssignmentProblem], bool]:
    """Confine a problem to each domain to which required affinity may confine the members, by name.

    Returns:
        The confined problems that may be solved; and whether they are all that there is: then each member must lie in
        the domain of every other.
    """
    problems: list[AssignmentProblem] = []
    is_all = False
    for key, binds_all in _affinity_keys(members).items():
        codes, values = session.nodes.facts.label_codes(key)
        if len(values) <= 1 or is_all:
            continue
        is_all = binds_all
        for value in sorted(values):
            inside = replace(problem, allowed=problem.allowed & (codes == values[value]))
            if not TreeSearch(inside).is_dead():
                problems.append(inside)
    return problems, is_all


def _affinity_keys(members: Members) -> dict[str, bool]:
    """Return the topology keys of required affinity of members, and whether it binds all of them to each other."""
    firsts = [kind[0] for kind in members.kinds]
    terms = [(task, term) for task in firsts for term in _required_affinity(task)]
    keys = dict.fromkeys(term.topology_key for _, term in terms)
    return {
        key: all(
            any(each is task and term.topology_key == key and _matches_all(term, firsts) for each, term in terms)
            for task in firsts
        )
        for key in keys
    }


def _required_affinity(task: Task) -> Sequence[PodAffinityTerm]:
    affinity = task.template.spec.affinity
    return () if affinity is None or affinity.pod_affinity is None else affinity.pod_affinity.required


def _matches_all(term: PodAffinityTerm, tasks: Sequence[Task]) -> bool:
    """Return whether a term speaks of all of some tasks of one job; no where that is not plain to see."""
    if term.label_selector is None or term.namespaces or term.namespace_selector or term.mismatch_label_keys:
        return False
    if term.match_label_keys:
        return False
    selector = Selector.of(term.label_selector)
    return all(selector.matches(task.pod.metadata.labels) for task in tasks)
