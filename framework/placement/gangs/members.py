"""Members: the tasks of a gang that are searched for places together, and the problem that this is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pyroclast.framework.placement.gangs.choices import Surplus
from pyroclast.framework.placement.gangs.exclusions import exclusions
from pyroclast.framework.placement.gangs.problem import AssignmentProblem, Companions, Shunning
from pyroclast.framework.placement.spreading import spreads_of
from pyroclast.framework.session.pods import session_pods
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.session_values import ScratchKey
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import SubJobId
from pyroclast.model.matching.pods import PodTerm
from pyroclast.model.required_rules import POD_AFFINITY
from pyroclast.model.tasks import Task

__all__ = ["Masks", "Members", "is_plain", "members_of", "opens_later", "problem_of", "room_of"]

Masks = Mapping[SubJobId, BoolArray]
"""Which nodes the tasks of a sub-job may use, shape (N,); those of sub-jobs that are not named may use all."""

_NUMBERS: Final = frozenset(
    {
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "statefulset.kubernetes.io/pod-name",
        "volcano.sh/task-index",
    }
)
"""Labels and annotations that number pods which are else equal."""
_HOST: Final = "kubernetes.io/hostname"
_LABELS: Final = ScratchKey("numbers of nodes by their labels")
"""Key of the session's scratch: numbers of nodes by their labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Tasks by kind: those of one kind are equal in everything that their places depend on; K kinds."""

    kinds: Sequence[Sequence[Task]]
    parts: Sequence[SubJobId | None]
    """The sub-job of each kind; None if nothing divides the job."""
    is_plain: bool
    """Whether capacity and the nodes alone decide where they go, whatever is placed of them already."""

    @property
    def size(self) -> int:
        """Number of tasks."""
        return sum(map(len, self.kinds))


def members_of(session: Session, job: SessionJob, tasks: Sequence[Task]) -> Members:
    """Sort tasks by kind."""
    plain = all(is_plain(session, task) for task in tasks)
    by_kind: dict[Any, list[Task]] = {}
    for task in tasks:
        part = job.part_of(task) if job.has_sub_group_policy or job.has_topology else None
        own = () if plain else _identity(session, task)
        key = (task.template.number, task.role, None if part is None else part.id, session.queues.kind(task), own)
        by_kind.setdefault(key, []).append(task)
    return Members(kinds=list(by_kind.values()), parts=[key[2] for key in by_kind], is_plain=plain)


def is_plain(session: Session, task: Task) -> bool:
    """Return whether the nodes of a task depend on other placements only by free resources."""
    if session.reserved.changes_room(task):
        return False
    beyond = session.candidates.answers.beyond(task)
    if beyond is not None and (beyond.verdicts or beyond.is_individual):
        return False
    return not (session.candidates.of(task).refusing_by_pods or session.extensions.chooses_for(task))


def _identity(session: Session, task: Task) -> tuple[Any, ...]:
    """Return what of a pod beside its template plugins may look at."""
    is_individual = session.candidates.answers.views.is_individual(task)
    if is_individual or task.pod.spec.volumes or task.pod.spec.resource_claims:
        return (task.id,)
    metadata = task.pod.metadata
    return tuple(
        tuple(sorted((key, value) for key, value in each.items() if key not in _NUMBERS))
        for each in (metadata.labels, metadata.annotations)
    )


def room_of(session: Session, tasks: Sequence[Task], *, on_idle: bool) -> IntArray:
    """Return the capacity on each node, base units, shape (R, N): what is free now, or also what is being released.

    What Reservations keep for one of the tasks counts for all of them. Plugins refuse it when a task is placed.
    """
    columns = session.nodes.columns()
    future = columns.future_idle
    # capacity that is free but held for waiting tasks is not free
    room = np.minimum(columns.idle, future) if on_idle else future
    return session.reserved.room_of_any(tasks, room, in_future=not on_idle)


def problem_of(
    session: Session, members: Members, room: IntArray, masks: Masks, surplus: Surplus | None = None
) -> AssignmentProblem:
    """Return the problem of placing members on free resources, shape (R, N). Only nodes are checked.

    Where members are not plain, plugins may refuse what it permits.
    """
    needs = [session.nodes.needs(kind[0].template) for kind in members.kinds]
    rows = sorted({row for each in needs for row in each.checked.tolist()})
    allowed = np.array([_allowed(session, kind[0]) for kind in members.kinds])
    for number, part in enumerate(members.parts):
        if part is not None and part in masks:
            allowed[number] &= masks[part]
    tasks = [] if members.is_plain else [kind[0] for kind in members.kinds]
    spreads = spreads_of(session, tasks)
    for spread in spreads:
        allowed[spread.kinds] &= spread.domains >= 0
    companions = _companions_of(session, tasks)
    for each in companions:
        allowed[each.sources] &= each.domains >= 0
    once = exclusions(tasks) if tasks else np.zeros((len(members.kinds), 0), dtype=np.int64)
    requests = np.array([each.request[rows] for each in needs])
    thresholds = np.array([each.thresholds[rows, 0] for each in needs])
    return AssignmentProblem(
        requests=np.hstack([requests, once]),
        thresholds=np.hstack([thresholds, once]),
        counts=[len(kind) for kind in members.kinds],
        room=np.vstack([room[rows], np.ones((once.shape[1], room.shape[1]), dtype=np.int64)]),
        allowed=allowed,
        scores=np.array([session.candidates.of(kind[0]).scores for kind in members.kinds]),
        alike=_alike(session, members),
        roles=() if surplus is None else [surplus.role_of(kind[0]) for kind in members.kinds],
        spare=(0,) if surplus is None else surplus.spare,
        spare_in_all=0 if surplus is None else surplus.in_all,
        opens=[opens_later(kind[0]) for kind in members.kinds],
        spreads=spreads,
        companions=companions,
        shunnings=_shunnings_of(session, tasks),
    )


def opens_later(task: Task) -> bool:
    """Return whether nodes that refuse a task may permit it once others are placed: by affinity, or by spread."""
    spec = task.template.spec
    affinity = None if spec.affinity is None else spec.affinity.pod_affinity
    spreads = any(each.when_unsatisfiable != "ScheduleAnyway" for each in spec.topology_spread_constraints)
    return spreads or (affinity is not None and bool(affinity.required))


def _allowed(session: Session, task: Task) -> BoolArray:
    """Return which nodes permit a task, capacity and other pods apart, shape (N,)."""
    candidates = session.candidates.of(task)
    if is_plain(session, task):
        permitted = (
            candidates.permitted_by_facts
        )  # checks beyond resources; other rules are checked when a task is placed
    else:
        candidates.refresh(task)
        permitted = candidates.allowed
    allowed = candidates.permit_pairs(task, permitted.copy())
    in_shard: BoolArray = np.logical_or.reduce(session.candidates.answers.shard_groups(allowed))
    return in_shard


def _alike(session: Session, members: Members) -> IntArray:
    """Number nodes so that those of one number differ in nothing but capacity and what they permit, shape (N,)."""
    count = len(session.nodes)
    if members.is_plain:
        return np.zeros(count, dtype=np.int64)
    tasks = [kind[0] for kind in members.kinds]
    if any(_differs_by_node(session, task) for task in tasks):
        return np.arange(count, dtype=np.int64)  # what is on a node may differ in ways that only plugins know
    occupied = np.array([bool(session.nodes.tasks_on(column)) for column in range(count)], dtype=np.bool_)
    labels = _numbers_of_labels(session)
    # pods there may bear on others
    distinct = np.where(occupied, count + np.arange(count, dtype=np.int64), labels)
    _, firsts, positions = np.unique(distinct, return_index=True, return_inverse=True)
    numbers: IntArray = np.argsort(np.argsort(firsts))[positions]
    return numbers


def _differs_by_node(session: Session, task: Task) -> bool:
    chooses = session.extensions.chooses_for(task) or bool(session.candidates.of(task).refusing_by_pods)
    return chooses or session.reserved.changes_room(task)


def _numbers_of_labels(session: Session) -> IntArray:
    """Number nodes by their labels but for the host name, shape (N,); once in a session."""
    known: IntArray | None = session.scratch.get(_LABELS)
    if known is None:
        numbers: dict[Any, int] = {}
        labels = (
            tuple(sorted(each for each in node.labels.items() if each[0] != _HOST))
            for node in session.nodes.facts.nodes
        )
        known = np.array([numbers.setdefault(each, len(numbers)) for each in labels], dtype=np.int64)
        session.scratch[_LABELS] = known
    return known


def _shunnings_of(session: Session, tasks: Sequence[Task]) -> list[Shunning]:
    """Return which kinds share no domain with which because of required anti-affinity.

    Args:
        session: The session.
        tasks: One task of each kind.
    """
    if not session.extensions.serves(POD_AFFINITY):
        return []
    pods, facts = session_pods(session), session.nodes.facts
    by_term: dict[PodTerm, list[bool]] = {}
    for kind, task in enumerate(tasks):
        terms = pods.terms(task).required_anti_affinity if task.template.spec.affinity is not None else ()
        for term in terms:
            by_term.setdefault(term, [False] * len(tasks))[kind] = True
    shunnings = []
    for term, kinds in by_term.items():
        shunned = [term.pods.matches(task.namespace, task.pod.metadata.labels) for task in tasks]
        if any(shunned):
            domains, _ = facts.label_codes(term.topology_key)
            shunnings.append(Shunning(shunning=np.array(kinds), shunned=np.array(shunned), domains=domains))
    return shunnings


def _companions_of(session: Session, tasks: Sequence[Task]) -> list[Companions]:
    """Return which kinds need others beside them because of required affinity.

    Members with affinity to their own kind all share one domain (`regions`). Each other member needs in its domain one
    member that its affinity selects, which may be placed before it.

    Args:
        session: The session.
        tasks: One task of each kind.
    """
    if not session.extensions.serves(POD_AFFINITY):
        return []
    pods = session_pods(session)
    sources: dict[tuple[Any, str], list[bool]] = {}
    for kind, task in enumerate(tasks):
        terms = pods.terms(task).required_affinity if task.template.spec.affinity is not None else ()
        every = tuple(dict.fromkeys(term.pods for term in terms))
        for term in terms:
            sources.setdefault((every, term.topology_key), [False] * len(tasks))[kind] = True
    found = []
    for (every, key), kinds in sources.items():
        labels = [(task.namespace, task.pod.metadata.labels) for task in tasks]
        targets = [all(matcher.matches(*each) for matcher in every) for each in labels]
        if not any(a and b for a, b in zip(kinds, targets, strict=True)):
            counts = pods.domains(every, key)
            found.append(
                Companions(
                    sources=np.array(kinds),
                    targets=np.array(targets),
                    domains=counts.codes,
                    before=counts.counts.copy(),
                )
            )
    return found
