"""Victims of preemption and reclaim, according to quotas."""

from collections.abc import Sequence

from pyroclast.framework.extension.contract import Vote
from pyroclast.framework.preemption.gang_plans import GangEviction
from pyroclast.model.elastic.names import DEFAULT_QUOTA
from pyroclast.model.elastic.tree import APART, QuotaAccount
from pyroclast.model.elastic.uses import is_preemptible
from pyroclast.model.tasks import Task
from pyroclast.plugins.elastic_quota.accounts import Accounts
from pyroclast.plugins.elastic_quota.arguments import ElasticQuotaArgs

__all__ = ["QuotaVictims"]


class QuotaVictims:
    """Answers the evicting actions.

    Pods that are labelled as not preemptible are never victims. A quota below its guarantee reclaims from quotas above
    their limit, until they are within it: between queues, and within a queue. Inside a queue (preempt), pods of a quota
    also preempt less important pods of the same quota. Pods of the default quota and of the system quota evict as if
    there were no quotas.
    """

    def __init__(self, accounts: Accounts, args: ElasticQuotaArgs) -> None:
        self._accounts = accounts
        self._args = args

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
        """Permit less important victims of the preemptor's quota, and victims that its quota may reclaim."""
        name = self._accounts.quota_of(preemptor)
        may_go = [task for task in candidates if is_preemptible(task)]
        if not self._is_free(name):
            reclaimed = {task.id for task in self._reclaimed(preemptor, name, may_go)}
            may_go = [
                task
                for task in may_go
                if task.id in reclaimed
                or (self._accounts.quota_of(task) == name and task.priority < preemptor.priority)
            ]
        return may_go, Vote.PERMIT

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
        """Permit victims of quotas above their limit, if the reclaimer's quota stays within its guarantee."""
        name = self._accounts.quota_of(reclaimer)
        may_go = [task for task in candidates if is_preemptible(task)]
        return may_go if self._is_free(name) else self._reclaimed(reclaimer, name, may_go), Vote.PERMIT

    def may_reclaim(self, reclaimer: Task) -> bool:
        """Return whether a task's quota stays within its guarantee with it, and another quota exceeds its limit."""
        name = self._accounts.quota_of(reclaimer)
        if self._is_free(name) or not self._is_guaranteed(reclaimer, name):
            return False
        return any(not self._accounts.is_within(account, account.used) for account in self._accounts.shared())

    def _reclaimed(self, reclaimer: Task, name: str, candidates: Sequence[Task]) -> list[Task]:
        """Return the candidates of other quotas above their limit, if the reclaimer's quota stays within its guarantee.

        Args:
            reclaimer: The beneficiary.
            name: Its quota.
            candidates: Candidates in the order of evictions.
        """
        if not self._is_guaranteed(reclaimer, name):
            return []
        left: dict[str, list[int]] = {}
        others = [task for task in candidates if self._accounts.quota_of(task) != name]
        return [task for task in others if self._take(task, left)]

    def _is_guaranteed(self, reclaimer: Task, name: str) -> bool:
        own, request = self._accounts.tree.accounts.get(name), self._accounts.request(reclaimer)
        return own is not None and not any(
            request[row] and own.used[row] + request[row] > own.guaranteed[row] for row in own.rows
        )

    def evictable(self, context: GangEviction, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
        """Return the same for a whole gang, represented by one task."""
        answer = self.reclaimable if context.is_reclaim else self.preemptable
        return answer(context.task, candidates)

    def beyond_limits(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Return the candidates without a quota, and those whose quota exceeds its limit when their turn comes."""
        if self._is_free(self._accounts.quota_of(reclaimer)):
            return list(candidates)
        left: dict[str, list[int]] = {}
        return [task for task in candidates if self._is_apart(task) or self._take(task, left)]

    def _is_apart(self, task: Task) -> bool:
        account = self._accounts.account_of(task)
        return account is None or account.name in APART

    def _take(self, task: Task, left: dict[str, list[int]]) -> bool:
        """Select a task if its quota exceeds its limit in a requested resource. Return whether it was selected."""
        account = self._accounts.account_of(task)
        if account is None or account.name in APART:
            return False
        used = left.get(account.name, account.used)
        request = self._accounts.request(task)
        if not self._has_too_much(account, used, request):
            return False
        left[account.name] = [amount - own for amount, own in zip(used, request, strict=True)]
        return True

    def _has_too_much(self, account: QuotaAccount, used: Sequence[int], request: Sequence[int]) -> bool:
        limit = self._accounts.limit(account)
        return any(request[row] and used[row] > limit[row] for row in account.rows)

    def _is_free(self, name: str) -> bool:
        return name in APART and (name != DEFAULT_QUOTA or self._args.spares_default)
