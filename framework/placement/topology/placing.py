"""Placing in domains: a domain is chosen for a whole job, or each of its sub-jobs, before the nodes in it.

Plugins give the domains level by level. One bound removes the domains of a level whose nodes lack capacity for the
missing tasks. The remaining domains are all scored, and tried best first. A trial is an attempt inside the statement
that is undone exactly. A job that is divided is tried whole in each domain of a level, and the domain whose sub-jobs'
scores add up highest is taken.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.framework.placement.placing import Worksheet
from pyroclast.framework.placement.placing_sub_jobs import place_part, place_parts
from pyroclast.framework.placement.topology.capacity import RoomInDomains
from pyroclast.framework.placement.topology.nearest import Nearest
from pyroclast.framework.placement.topology.turns import domain_turns
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.state.domains import ALLOCATE
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedDict

__all__ = ["DomainSearch", "goes_by_domains"]

NO_DOMAIN_FITS: Final = "NoDomainFits"
_SUCCESSES_PER_TRIAL: Final = 8
"""Placements that count as one in a domain that takes a whole job. The best of such domains is used."""


def goes_by_domains(session: Session, job: SessionJob) -> bool:
    """Return whether domains limit a job or one of its sub-jobs."""
    domains = session.topology.domains_of(job)
    if domains.limit_of_job(job) is not None:
        return True
    return job.has_sub_group_policy and any(domains.limit_of_part(part) is not None for part in job.sub_jobs.values())


class DomainSearch:
    """One attempt to place tasks of a job within domains."""

    def __init__(
        self,
        session: Session,
        statement: Statement,
        job: SessionJob,
        sheets: list[Worksheet],
        *,
        phase: str,
        root: int | None = None,
    ) -> None:
        """Begin.

        Args:
            session: The session.
            statement: Takes the placements.
            job: The job.
            sheets: Its tasks, by sub-job.
            phase: Kind of the search, for the turn of the job.
            root: Number of the domain in which to look; all of them if None.
        """
        self._session = session
        self._domains = session.topology.domains_of(job)
        self._root = self._domains.topology.root if root is None else root
        self._statement = statement
        self._job = job
        self._sheets = sheets
        self._marks = [sheet.mark() for sheet in sheets]
        self._refusals_before = dict(job.reasons.task_refusals)
        self._is_tried = False
        self._for_part: frozenset[int] | None = None
        self._turn = domain_turns(session).of(job)
        self._turn.begin(phase)

    def place(self) -> bool:
        """Place tasks in the best domain. Return whether the job is ready."""
        session, job = self._session, self._job
        tasks = [task for sheet in self._sheets for task in sheet.left()]
        room = RoomInDomains(session, self._domains, tasks)
        place = self._best_of if job.has_sub_group_policy else self._first_of
        # a job that has waited long enough holds the available places, even fewer than its minimum
        missing = 1 if session.jobs.job_pipelined(job) else session.jobs.missing_of_job(job)
        for level in session.topology.gradients_for_job(job, self._root, ALLOCATE):
            # a label has one level: domains that hold all tasks come before those that hold the minimum
            for needed in sorted({missing, room.size}, reverse=True) if job.topology_key else (missing,):
                enough = room.hold(level, needed)
                if enough and place(enough):
                    self._turn.end()
                    return session.jobs.job_ready(job)
                if self._turn.is_cut:
                    return session.jobs.job_ready(job)
        self._refuse(room)
        return session.jobs.job_ready(job)

    # A job that nothing divides

    def _first_of(self, level: list[int]) -> bool:
        """Place tasks in the best domain of a level that takes them: one in which the job as its own part may run."""
        sheet, root = self._sheets[0], self._root
        if self._for_part is None:
            levels = self._session.topology.gradients_for_part(sheet.sub_job, root, ALLOCATE)
            self._for_part = frozenset(number for inner in levels for number in inner)
        # if no plugin is asked about sub-jobs, they use the job's own domains
        is_anywhere = not self._session.extensions.functions(contract.HYPER_NODE_GRADIENT_FOR_SUB_JOB)
        fit = [number for number in level if is_anywhere or number in self._for_part]
        return self._place_sheet(sheet, self._untried(fit)) is not None

    def _untried(self, level: Sequence[int]) -> list[int]:
        """Return the domains that were not tried in this turn of the job."""
        domains = self._domains.topology.domains
        return [number for number in level if not self._turn.has_tried(domains[number].name)]

    def _place_sheet(self, sheet: Worksheet, level: Sequence[int]) -> float | None:
        """Place tasks of a sub-job in the best of some domains that takes them; its score, or None if none does."""
        session = self._session
        mark = sheet.mark()
        scores = session.topology.domain_scores(sheet.sub_job, level) if level else np.zeros(0)
        for best in np.argsort(-scores, kind="stable").tolist():
            if not self._turn.may_try():
                break
            sheet.return_to(mark)
            self._begin_trial(sheet)
            if place_part(session, self._statement, self._job, sheet, self._domains.mask(level[best])):
                return float(scores[best])
            self._turn.count(sheet.position - mark[0])
            if not self._job.has_sub_group_policy:
                self._turn.note(self._domains.topology.domains[level[best]].name)
        sheet.return_to(mark)  # a wider domain begins with all of it
        return None

    def _begin_trial(self, sheet: Worksheet) -> None:
        """Discard the results of earlier trials in other domains."""
        self._is_tried = True
        sheet.failed_roles.clear()
        for task in sheet.left():
            self._job.forget_refusal(task.id)
            self._job.forget_place(task.id)

    # A job of several sub-jobs

    def _best_of(self, level: list[int]) -> bool:
        """Try the whole job in each domain of a level, and place it in the best."""
        best: tuple[float, int] | None = None
        for number in self._untried(level):
            if not self._turn.may_try():
                break
            has_whole_share, before = self._turn.has_whole_share, len(self._statement.operations)
            score = self._place_all(number)
            if score is not None and len(level) == 1:
                return True
            self._statement.undo_to(before)
            tasks = sum(len(sheet.tasks) for sheet in self._sheets)
            self._turn.count(0 if score is None else tasks // _SUCCESSES_PER_TRIAL)
            if score is not None and (best is None or score > best[0]):
                best = score, number
            elif score is None and (has_whole_share or not self._turn.is_cut):
                self._turn.note(self._domains.topology.domains[number].name)
        if best is None:
            return False
        with self._turn.uncut():
            return self._place_all(best[1]) is not None

    def _place_all(self, number: int) -> float | None:
        """Place the sub-jobs inside a domain; the sum of their scores, or None if that does not serve the job."""
        session, job = self._session, self._job
        before = len(self._statement.operations)
        for sheet, mark in zip(self._sheets, self._marks, strict=True):
            sheet.return_to(mark)
        total = 0.0

        def place(sheet: Worksheet) -> bool:
            nonlocal total
            score = self._place_inside(sheet, number)
            total += score or 0.0
            return score is not None

        is_ready = place_parts(session, job, self._sheets, place)
        if len(self._statement.operations) > before and (is_ready or session.jobs.job_pipelined(job)):
            return total
        self._statement.undo_to(before)
        return None

    def _place_inside(self, sheet: Worksheet, number: int) -> float | None:
        """Place tasks of a sub-job in the best domain inside another; its score, or None if none takes them."""
        session = self._session
        room: RoomInDomains | None = None
        for level in session.topology.gradients_for_part(sheet.sub_job, number, ALLOCATE):
            room = room or RoomInDomains(session, self._domains, sheet.left())
            enough = room.hold(level, session.jobs.missing(sheet.sub_job))
            score = self._place_sheet(sheet, enough) if enough else None
            if score is not None:
                return score
        return None

    # Saying why not

    def _refuse(self, room: RoomInDomains) -> None:
        """Return how far the domains of each tier are from taking what is missing."""
        job = self._job
        if not self._is_tried:
            job.reasons.task_refusals = SealedDict({**job.reasons.task_refusals, **self._refusals_before})
        for sheet, mark in zip(self._sheets, self._marks, strict=True):
            sheet.return_to(mark)
        refusal = Refusal(plugin="allocate", reason=NO_DOMAIN_FITS, message=self._message(room))
        if not self._session.jobs.job_ready(job):
            job.refuse(refusal)
        for sheet in self._sheets:
            for task in sheet.left():
                if task.id not in job.reasons.task_refusals:
                    job.refuse_task(task, refusal)
            sheet.drop_rest()

    def _message(self, room: RoomInDomains) -> str:
        """Return the message for the whole job, or for the first sub-job whose own domains lack capacity."""
        session, job, domains = self._session, self._job, self._domains
        held = domains.held_by_job(job)
        # a job that has begun may continue one by one; otherwise all its pending tasks must fit together
        needed = room.size if held < 0 else session.jobs.missing_of_job(job)
        layers = session.topology.layer_names(job)
        found = Nearest(domains, domains.limit_of_job(job), held, room, needed, label=job.topology_key, layers=layers)
        if found.most < needed:
            return found.why(session, job.job.namespace)
        for sheet in self._sheets if job.has_sub_group_policy else ():
            part, inside = sheet.sub_job, domains.limit_of_part(sheet.sub_job)
            left, held = RoomInDomains(session, self._domains, sheet.left()), domains.held_by_part(part)
            needed = left.size if held < 0 else max(part.missing, 1)
            nearest = Nearest(domains, inside, held, left, needed)
            if inside is not None and nearest.most < needed:
                return f"sub-group {part.id.rpartition('/')[2]}: {nearest.why(session, job.job.namespace)}"
        reason = next((each.message for each in job.reasons.task_refusals.values() if each.message), "")
        return f"{found.words_by_room}: {reason}" if reason else found.words_by_room
