"""Elastic quota: limit pods by their quota's guarantee plus the unused resources of other quotas.

Points: allocatable, job enqueueable, preemptable, reclaimable, unified evictable, victim tasks; a ledger.
Arguments: `ElasticQuotaArgs`.  Rules and example: docs/plugins/elastic-quota.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin, Vote
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.queue_refusals import amounts_beyond
from pyroclast.model.elastic.tree import QuotaAccount
from pyroclast.model.elastic.uses import is_preemptible
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task
from pyroclast.plugins.elastic_quota.accounts import Accounts, uses_on_nodes
from pyroclast.plugins.elastic_quota.arguments import ElasticQuotaArgs
from pyroclast.plugins.elastic_quota.endpoints import QuotaEndpoints
from pyroclast.plugins.elastic_quota.hooks import QuotaHooks
from pyroclast.plugins.elastic_quota.revoking import Revoking
from pyroclast.plugins.elastic_quota.status import report
from pyroclast.plugins.elastic_quota.victims import QuotaVictims

__all__ = ["ElasticQuota"]

MOST: Final = 1 << 30


_RUNTIME: Final = "its guarantee and the unused part of other quotas"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticQuota(Plugin):
    """Share the cluster by quotas that lend unused resources."""

    name = "elastic-quota"
    watches_clock = False
    args: ElasticQuotaArgs = field(default_factory=ElasticQuotaArgs)

    def endpoints(self) -> Mapping[str, contract.Endpoint]:
        """Return the endpoints of quotas."""
        own = QuotaEndpoints(own_alone=self.args.own_quotas_alone)
        return {"quotas": own.quotas, "quotas/{name}": own.quota}

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves; none without quotas and limiting arguments."""
        uses = session.snapshot.quota_uses
        if uses is None:
            if not (self.args.default_maximum or self.args.system_maximum):
                return
            uses = uses_on_nodes(session)
        accounts = Accounts(session, uses, self.args)
        hooks = QuotaHooks(session, accounts, self.args.hook_plugins)
        limits = QuotaLimits(session, accounts, hooks)
        session.extensions.register(
            contract.ALLOCATABLE, self.name, limits.allocatable, headroom=limits.headroom, kind=limits.kind
        )
        session.extensions.register(contract.JOB_ENQUEUEABLE, self.name, limits.enqueueable)
        victims = QuotaVictims(accounts, self.args)
        session.extensions.register(contract.PREEMPTABLE, self.name, victims.preemptable)
        session.extensions.register(
            contract.RECLAIMABLE, self.name, victims.reclaimable, within_queue=victims.may_reclaim
        )
        session.extensions.register(
            contract.UNIFIED_EVICTABLE, self.name, victims.evictable, within_queue=victims.may_reclaim
        )
        session.extensions.register(contract.QUEUE_SURPLUS, self.name, victims.beyond_limits)
        session.extensions.register_ledger(self.name, accounts)
        if self.args.monitor_all and self.args.lends:
            revoking = Revoking(session, accounts, self.args.delay)
            if revoking.due:
                session.extensions.register(contract.VICTIM_TASKS, self.name, revoking.moves)
        if hooks:
            session.extensions.on_opened(self.name, lambda: report(session, accounts, hooks.annotations))
        else:
            report(session, accounts)


class QuotaLimits:
    """Checks the limits of quotas."""

    def __init__(self, session: Session, accounts: Accounts, hooks: QuotaHooks) -> None:
        self._session = session
        self._accounts = accounts
        self._hooks = hooks

    def kind(self, task: Task) -> tuple[Any, ...]:
        """Return what decides about a task besides its template: its quota, and whether it is preemptible.

        Hook plugins may decide about each task by itself.
        """
        kind = self._accounts.quota_of(task), is_preemptible(task)
        return (*kind, task.id) if self._hooks else kind

    def allocatable(self, _: Queue, task: Task) -> Refusal | None:
        """Refuse a task with which its quota or an ancestor would exceed its limit."""
        account = self._accounts.account_of(task)
        if account is None:
            return self._unserved(task)
        request = self._accounts.request(task)
        short = self._accounts.over(account, request)
        if short:
            return self._over(account, short, request, self._accounts.limit(account))
        if not is_preemptible(task):
            kept = [
                row
                for row in account.minimum_rows
                if account.unpreemptible_used[row] + request[row] > account.minimum[row]
            ]
            if kept:
                return self._unpreemptible(account, kept, request)
        refusal = self._hooks.check(account.name, task) if self._hooks else None
        if refusal is not None:
            return refusal
        for above in self._accounts.above(account):
            limit = self._accounts.limit(above)
            short = [
                row
                for row in above.rows
                if row in account.rows and request[row] and above.used[row] + request[row] > limit[row]
            ]
            if short:
                return self._over(above, short, request, limit, below=account.name)
        return None

    def headroom(self, _: Queue, task: Task) -> int:
        """Return how many tasks like this one fit into its quota and the ancestors."""
        account = self._accounts.account_of(task)
        if account is None:
            return 0
        request = self._accounts.request(task)
        limit = self._accounts.limit(account)
        if not self._accounts.is_within(account, account.used):
            return 0
        most = _times(account.rows, request, account.used, limit, MOST)
        if not is_preemptible(task):
            if any(account.unpreemptible_used[row] > account.minimum[row] for row in account.minimum_rows):
                return 0
            most = _times(account.minimum_rows, request, account.unpreemptible_used, account.minimum, most)
        if self._hooks:
            most = 0 if most and self._hooks.check(account.name, task) is not None else min(most, 1)
        for above in self._accounts.above(account):
            rows = [row for row in above.rows if row in account.rows]
            most = _times(rows, request, above.used, self._accounts.limit(above), most)
        return most

    def enqueueable(self, job: SessionJob) -> Vote | Refusal:
        """Refuse a job whose minimum exceeds the maximum of its quota or of an ancestor."""
        minimum = self._session.snapshot.job_table.min_resources[:, job.job.column].tolist()
        quotas = {self._accounts.quota_of(task): task for task in self._session.jobs.pending_tasks(job)}
        if len(quotas) != 1:  # its pods do not exist yet, or have several quotas
            return Vote.ABSTAIN
        account = self._accounts.account_of(*quotas.values())
        if account is None:
            return self._unserved(*quotas.values())
        for each in account.line():
            short = [] if each.parent is None else _beyond(each, minimum)
            if short:
                names = ", ".join(self._session.resources.names[row] for row in short)
                message = f"the minimum of the job exceeds the maximum of quota {each.name}: {names}"
                over = amounts_beyond(self._session.resources, short, minimum, each.maximum)
                return _refusal("QuotaTooSmall", message, amounts=over)
        return Vote.ABSTAIN

    # Refusals ---------------------------------------------------------------------------------------------------------

    def _unserved(self, task: Task) -> Refusal:
        name = self._accounts.quota_of(task)
        fault = self._accounts.faults.get(name, "it does not exist")
        return _refusal("QuotaBroken", f"quota {name} is out of service: {fault}", resolvable=False)

    def _over(
        self,
        account: QuotaAccount,
        short: Sequence[int],
        request: Sequence[int],
        limit: Sequence[int],
        *,
        below: str = "",
    ) -> Refusal:
        space = self._session.resources
        where = f"quota {account.name}, an ancestor of {below}," if below else f"quota {account.name}"
        names = ", ".join(space.names[row] for row in short)
        at_most = all(limit[row] >= account.maximum[row] for row in short)
        limit_in_words = f"maximum of {names}" if at_most else f"runtime of {names}: {_RUNTIME}"
        would = [used + amount for used, amount in zip(account.used, request, strict=True)]
        return _refusal(
            "InsufficientQuota",
            f"Insufficient quotas: {where} would exceed its {limit_in_words}",
            amounts=amounts_beyond(space, short, would, limit),
        )

    def _unpreemptible(self, account: QuotaAccount, kept: Sequence[int], request: Sequence[int]) -> Refusal:
        space = self._session.resources
        names = ", ".join(space.names[row] for row in kept)
        would = [used + amount for used, amount in zip(account.unpreemptible_used, request, strict=True)]
        return _refusal(
            "InsufficientGuarantee",
            f"Insufficient quotas: non-preemptible pods of quota {account.name} would exceed its guarantee of {names}",
            amounts=amounts_beyond(space, kept, would, account.minimum),
        )


def _refusal(
    reason: str, message: str, *, amounts: dict[str, tuple[int, int]] | None = None, resolvable: bool = True
) -> Refusal:
    return Refusal(
        plugin=ElasticQuota.name, reason=reason, message=message, amounts=amounts or {}, resolvable=resolvable
    )


def _times(rows: Sequence[int], request: Sequence[int], used: Sequence[int], limit: Sequence[int], most: int) -> int:
    """Return how often a request fits, at most `most` times."""
    for row in rows:
        if request[row] > 0:
            most = min(most, (limit[row] - used[row]) // request[row])
    return max(most, 0)


def _beyond(account: QuotaAccount, minimum: Sequence[int]) -> list[int]:
    return [row for row in account.rows if minimum[row] > account.maximum[row]]
