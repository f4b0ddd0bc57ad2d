"""Revoking: evict pods from quotas that exceed their limit for too long, least important pods first."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

from pyroclast.framework.extension.contract import Move
from pyroclast.framework.preemption.victim_gangs import whole_gang
from pyroclast.framework.session.session import Session
from pyroclast.model.elastic.tree import QuotaAccount
from pyroclast.model.elastic.uses import is_preemptible
from pyroclast.model.ids import JobId
from pyroclast.model.tasks import Task, by_name
from pyroclast.plugins.elastic_quota.accounts import Accounts

__all__ = ["Revoking", "to_revoke"]

STRATEGY: Final = "quota-overuse"


class Revoking:
    """Tracks how long quotas have exceeded their limits. The start times are kept between cycles."""

    def __init__(self, session: Session, accounts: Accounts, delay: Fraction) -> None:
        """Check all quotas.

        A quota that has exceeded its limit for longer than the delay is due, and its time restarts.
        """
        self._session = session
        self._accounts = accounts
        self.due: list[QuotaAccount] = []
        prefix = f"{session.extensions.option.instance}/"
        before = {key: since for key, since in session.report.runs.items() if key.startswith(prefix)}
        for key in before:
            session.report.note_run(key, None)
        for account in accounts.shared():
            if accounts.is_within(account, account.used):
                continue
            key = prefix + account.name
            since = before.get(key, session.now)
            if Fraction(session.now) > Fraction(since) + delay:
                self.due.append(account)
                since = session.now
            session.report.note_run(key, since)
            session.report.wake(since + float(delay))

    def moves(self, tasks: Sequence[Task]) -> list[Move]:
        """Return the evictions.

        A gang that cannot spare a victim is evicted whole, or stays if a member is exempt.
        """
        by_quota: dict[str, list[Task]] = {}
        for task in tasks:
            by_quota.setdefault(self._accounts.quota_of(task), []).append(task)
        moves: list[Move] = []
        for account in self.due:
            victims = self._victims(account, by_quota.get(account.name, ()))
            budget = f"to bring quota {account.name} down to its limit"
            takes_gangs = {job: self._may_go_whole(job) for job in {task.job for task in victims}}
            moves += [
                Move(task=task, strategy=STRATEGY, budget=budget, takes_gangs=takes_gangs[task.job]) for task in victims
            ]
        return moves

    def _victims(self, account: QuotaAccount, tasks: Iterable[Task]) -> list[Task]:
        ranked = sorted(filter(_may_go, tasks), key=_least_important_first)
        requests = [self._accounts.request(task) for task in ranked]
        return [ranked[at] for at in to_revoke(requests, account.used, self._accounts.limit(account), account.rows)]

    def _may_go_whole(self, job_id: JobId | None) -> bool:
        """Return whether no member of a gang is exempt."""
        job = None if job_id is None else self._session.jobs.get(job_id)
        return job is not None and all(map(_may_go, whole_gang(job)))


def to_revoke(
    requests: Sequence[Sequence[int]], used: Sequence[int], limit: Sequence[int], rows: Sequence[int]
) -> list[int]:
    """Return the positions of the pods to evict from a quota.

    Starting with the least important pod, pods are removed until the quota is within its limit. Then, starting with the
    most important one, pods are kept if the quota stays within its limit. If this is impossible, all are evicted.

    Args:
        requests: Requests of the preemptible pods, base units by row, the least important first.
        used: Usage of the quota.
        limit: Limit of the quota.
        rows: Rows that count.
    """
    left = list(used)

    def is_within() -> bool:
        return all(left[row] <= limit[row] for row in rows)

    taken = []
    for at, request in enumerate(requests):
        if is_within():
            break
        taken.append(at)
        for row in rows:
            left[row] -= request[row]
    if not is_within():
        return taken
    gone = []
    for at in reversed(taken):
        for row in rows:
            left[row] += requests[at][row]
        if not is_within():
            gone.append(at)
            for row in rows:
                left[row] -= requests[at][row]
    return gone


def _may_go(task: Task) -> bool:
    """Return whether a task may be evicted by its quota's rules and its own settings."""
    return is_preemptible(task) and task.preemptable


def _least_important_first(task: Task) -> tuple[int, float, str, str, str]:
    """Sort key for evictions: the lowest priority first, then the youngest."""
    return task.priority, -task.created, *by_name(task)
