"""Regions: on which nodes the members of a gang may run together.

Network topologies confine a gang, and each of its sub-groups, to domains. Required pod affinity among members confines
them to one domain of its topology key, which the first member chooses for the others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.framework.placement.gangs.counting import are_too_many
from pyroclast.framework.placement.gangs.members import Masks, Members, opens_later, problem_of
from pyroclast.framework.placement.gangs.problem import AssignmentProblem
from pyroclast.framework.placement.gangs.tree_search import TreeSearch, tightest_first
from pyroclast.framework.placement.topology.capacity import RoomInDomains
from pyroclast.framework.placement.topology.placing import goes_by_domains
from pyroclast.framework.placement.topology.turns import domain_turns
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.domains import ALLOCATE
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import SubJobId
from pyroclast.model.matching.selectors import Selector
from pyroclast.model.tasks import Task
from pyroclast.model.wire import PodAffinityTerm

__all__ = ["Count", "confined", "regions_inside", "regions_of"]

Count = Callable[[int], bool]
"""Counts steps of the way to a region; returns whether more may be taken."""

_STEPS: Final = 50
"""Maximum number of undone placements when sub-groups are checked on the way to a region."""
_STEPS_PER_LOOK: Final = 10
"""Cost of checking sub-groups, in placements."""


def regions_of(
    session: Session, job: SessionJob, members: Members, room: IntArray, *, root: int, phase: str, count: Count
) -> Iterator[Masks]:
    """Yield where the sub-jobs of a job may run, best first; once without limits where no topology asks for them.

    Where `count` or the turn of the job ends the search, further regions may exist.
    """
    if not (session.topology.serves(job) and goes_by_domains(session, job)):
        yield {}
        return
    for level in session.topology.gradients_for_job(job, root, ALLOCATE):
        if job.has_sub_group_policy:
            for number in _in_turn(session, job, members, level, phase):
                yield from _inside(session, job, members, room, number=number, count=count)
        else:
            yield from _whole(session, job, members, level, root=root, phase=phase)


def _in_turn(session: Session, job: SessionJob, members: Members, level: Sequence[int], phase: str) -> Iterator[int]:
    """Yield the domains of a level that the turn of the job permits. The next one is taken if one fails."""
    turn, domains = domain_turns(session).of(job), session.topology.domains_of(job).topology.domains
    turn.begin(phase)
    for number in level:
        name = domains[number].name
        if turn.has_tried(name):
            continue
        if not turn.may_try():
            return
        yield number
        turn.count(len(members.kinds))
        turn.note(name)


def _whole(
    session: Session, job: SessionJob, members: Members, level: Sequence[int], *, root: int, phase: str
) -> Iterator[Masks]:
    """Yield the domains of a level that may have capacity, for a job that nothing divides, best score first."""
    part = next(iter(job.sub_jobs.values()))
    fit = level
    if not any(opens_later(kind[0]) for kind in members.kinds):
        tasks = [task for kind in members.kinds for task in kind]
        fit = RoomInDomains(session, session.topology.domains_of(job), tasks).hold(
            level, session.jobs.missing_of_job(job)
        )
    if session.extensions.functions(contract.HYPER_NODE_GRADIENT_FOR_SUB_JOB):
        inner = {number for each in session.topology.gradients_for_part(part, root, ALLOCATE) for number in each}
        fit = [number for number in fit if number in inner]
    scores = session.topology.domain_scores(part, fit)
    best_first = [fit[at] for at in np.argsort(-scores, kind="stable").tolist()]
    for number in _in_turn(session, job, members, best_first, phase):
        yield {part.id: session.topology.domains_of(job).mask(number)}


def _inside(
    session: Session, job: SessionJob, members: Members, room: IntArray, *, number: int, count: Count
) -> Iterator[Masks]:
    """Yield one domain for each sub-job with members, all inside a domain, where they have places together."""
    options = {
        part: [
            inner
            for level in session.topology.gradients_for_part(job.sub_jobs[part], number, ALLOCATE)
            for inner in level
        ]
        for part in members.parts
        if part is not None
    }
    return regions_inside(session, members, problem_of(session, members, room, {}), options, count)


def regions_inside(
    session: Session,
    members: Members,
    problem: AssignmentProblem,
    options: Mapping[SubJobId, Sequence[int]],
    count: Count,
) -> Iterator[Masks]:
    """Yield one domain for each sub-job with members, where they have places together.

    Args:
        session: The session.
        members: The members.
        problem: Their problem, domains apart.
        options: Numbers of the domains in which each sub-job with members may run, best first.
        count: Counts steps; where it ends the search, further regions may exist.
    """
    order = sorted(options, key=lambda part: (len(options[part]), -_size_of(members, part), part))
    equal = _equal_before(session, members, order, options)
    if are_too_many(session, problem, members, options):
        return

    def extend(chosen: dict[SubJobId, int]) -> Iterator[dict[SubJobId, int]]:
        if len(chosen) == len(order):
            yield chosen
            return
        part = order[len(chosen)]
        # equal sub-jobs could change places: each combination of their domains is tried in one order
        first = options[part].index(chosen[equal[part]]) if part in equal else 0
        for inner in options[part][first:]:
            if not count(_STEPS_PER_LOOK):
                return
            wider = {**chosen, part: inner}
            if _holds(problem, members, {each: session.topology.domains.mask(at) for each, at in wider.items()}, count):
                yield from extend(wider)

    for chosen in extend({}):
        yield {part: session.topology.domains.mask(at) for part, at in chosen.items()}


def _equal_before(
    session: Session, members: Members, order: Sequence[SubJobId], options: Mapping[SubJobId, Sequence[int]]
) -> dict[SubJobId, SubJobId]:
    """Return for each sub-job the last one before it that has equal tasks, where there is one; plain members only."""
    last: dict[Any, SubJobId] = {}
    found: dict[SubJobId, SubJobId] = {}
    if not members.is_plain:
        return found
    for part in order:
        kinds = [
            (kind[0].template.number, kind[0].role, session.queues.kind(kind[0]), len(kind))
            for kind, of in zip(members.kinds, members.parts, strict=True)
            if of == part
        ]
        key = frozenset(kinds), tuple(options[part])
        if key in last:
            found[part] = last[key]
        last[key] = part
    return found


def _size_of(members: Members, part: SubJobId) -> int:
    return sum(len(kind) for kind, of in zip(members.kinds, members.parts, strict=True) if of == part)


def _holds(problem: AssignmentProblem, members: Members, masks: Masks, count: Count) -> bool:
    """Return whether the members of the sub-jobs in `masks` have places together. Only nodes are checked."""
    rows, inside = [], []
    for row, part in enumerate(members.parts):
        if part is not None and part in masks:
            rows.append(row)
            inside.append(masks[part])
    some = replace(
        problem,
        requests=problem.requests[rows],
        thresholds=problem.thresholds[rows],
        counts=[problem.counts[row] for row in rows],
        allowed=problem.allowed[rows] & np.array(inside),
        scores=problem.scores[rows],
        opens=[problem.opens[row] for row in rows],
        spreads=(),
        companions=(),
        shunnings=(),
    )
    search = TreeSearch(some)
    is_found = search.run(tightest_first, sum(some.counts) + _STEPS)
    count(search.steps)
    return is_found is not False


def confined(session: Session, members: Members, problem: AssignmentProblem) -> tuple[list[AssignmentProblem], bool]:
    """Confine a problem to each domain to which required affinity may confine the members, by name.

    Returns:
        The confined problems that may be solved; and whether they are all that there is: then each member must run in
        the domain of every other.
    """
    problems: list[AssignmentProblem] = []
    is_all = False
    for key, binds_all in _affinity_keys(members).items():
        codes, values = session.nodes.facts.label_codes(key)
        if len(values) <= 1 or is_all:
            continue
        is_all = binds_all
        holds = _holding_values(problem, codes, len(values))
        problems += (
            replace(problem, allowed=problem.allowed & (codes == values[value]))
            for value in sorted(values)
            if holds[values[value]]
        )
    return problems, is_all


def _holding_values(problem: AssignmentProblem, codes: IntArray, count: int) -> BoolArray:
    """Return which values of a label may hold all tasks except the surplus, checked by counting, shape (V,)."""
    labelled = np.flatnonzero(codes >= 0)
    codes = codes[labelled]
    slots = TreeSearch(problem).slots[:, labelled]

    def by_value(amounts: IntArray) -> IntArray:
        sums = np.zeros(count, dtype=np.int64)
        np.add.at(sums, codes, amounts)
        return sums

    missing = [np.maximum(tasks - by_value(row), 0) for tasks, row in zip(problem.counts, slots, strict=True)]
    holds: BoolArray = np.sum(missing, axis=0) <= problem.spare_in_all
    usable = np.where(slots.any(axis=0), np.maximum(problem.room[:, labelled], 0), 0)
    least = np.array(problem.counts) @ problem.requests - problem.spare_in_all * problem.requests.max(axis=0)
    for row, amount in zip(usable, least.tolist(), strict=True):
        holds &= by_value(row) >= amount
    return holds


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
