"""Accounts: usage and limit of each quota in one session."""

from collections.abc import Iterator, Sequence

import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import IntArray
from pyroclast.model.elastic import DEFAULT_QUOTA, SYSTEM_QUOTA, Belonging, Claim, QuotaUses
from pyroclast.model.elastic.tree import APART, QuotaAccount, QuotaTree, faults_of
from pyroclast.model.elastic.uses import claim_of, counts
from pyroclast.model.tasks import Task
from pyroclast.plugins.elastic_quota.arguments import ElasticQuotaArgs

__all__ = ["Accounts", "uses_on_nodes"]


def uses_on_nodes(session: Session) -> QuotaUses:
    """Return the usage of pods on nodes by claim, if the snapshot does not count it because there are no quotas.

    Requests of pending pods are left out: they do not affect the quotas that always exist.
    """
    used: dict[Claim, IntArray] = {}
    for tasks in session.nodes.table.tasks:
        for task in tasks.values():
            if counts(task)[1]:
                sums = used.setdefault(claim_of(task), np.zeros(len(session.resources), dtype=np.int64))
                sums += np.array(session.nodes.counted_amounts(task), dtype=np.int64)
    claims = tuple(sorted(used))
    columns = np.array([used[claim] for claim in claims], dtype=np.int64).reshape(len(claims), len(session.resources)).T
    return QuotaUses(claims=claims, requested=np.zeros_like(columns), used=columns)


class Accounts(Ledger):
    """The quotas of one session, as a ledger."""

    def __init__(self, session: Session, uses: QuotaUses, args: ElasticQuotaArgs) -> None:
        """Count the usage at the start of the session."""
        self._session = session
        self._args = args
        self.guarantees_use = args.guarantees_use
        """Whether the amounts in use are guaranteed beyond the minimum."""
        quotas = session.snapshot.elastic_quotas
        self.faults = faults_of(quotas)
        """Faults of quotas that are out of service, by name."""
        sound = [quota for name, quota in quotas.items() if name not in self.faults]
        apart = {DEFAULT_QUOTA: args.default_maximum, SYSTEM_QUOTA: args.system_maximum}
        self.tree = QuotaTree(session.resources, sound, apart, guarantees_use=args.guarantees_use)
        self._belonging = Belonging(quotas.values(), own_alone=args.own_quotas_alone)
        self._names: dict[tuple[str, str], str] = {}
        for column, claim in enumerate(uses.claims):
            account = self.tree.accounts.get(self._quota_of(claim))
            if account is not None:
                account.ask(uses.requested[:, column].tolist(), is_preemptible=claim.is_preemptible)
                account.use(uses.used[:, column].tolist(), is_preemptible=claim.is_preemptible)
        self.tree.settle(session.total.tolist(), cuts_guarantees=args.cuts_guarantees)

    def quota_of(self, task: Task) -> str:
        """Return the name of a task's quota."""
        return self._quota_of(claim_of(task))

    def _quota_of(self, claim: Claim) -> str:
        key = (claim.label, claim.namespace)
        known = self._names.get(key)
        if known is None:
            known = self._names[key] = self._belonging.quota_of(*key)
        return known

    def account_of(self, task: Task) -> QuotaAccount | None:
        """Return the usage of a task's quota; None if the quota is out of service."""
        return self.tree.accounts.get(self.quota_of(task))

    def limit(self, account: QuotaAccount) -> list[int]:
        """Return the current limit of a quota, base units by row."""
        return account.runtime if self._args.lends else account.maximum

    def above(self, account: QuotaAccount) -> Iterator[QuotaAccount]:
        """Iterate over the ancestors of a quota whose limits apply too."""
        if self._args.checks_parents:
            yield from (each for each in account.line() if each is not account and each.parent is not None)

    def request(self, task: Task) -> list[int]:
        """Return the request of a task, base units by row."""
        return self._session.nodes.counted_amounts(task)

    def over(self, account: QuotaAccount, more: Sequence[int]) -> list[int]:
        """Return the rows in which a quota would exceed its limit with `more`, including rows that are not requested.

        A quota that exceeds its limit in one resource accepts no task, even if the task does not request the resource.
        """
        limit = self.limit(account)
        return [row for row in account.rows if account.used[row] + more[row] > limit[row]]

    def is_within(self, account: QuotaAccount, used: Sequence[int]) -> bool:
        """Return whether usage is within the limit of a quota."""
        limit = self.limit(account)
        return all(used[row] <= limit[row] for row in account.rows)

    def shared(self) -> Iterator[QuotaAccount]:
        """Iterate over the quotas that share resources, sorted by name."""
        return (account for name, account in self.tree.accounts.items() if name not in APART)

    # Ledger -----------------------------------------------------------------------------------------------------------

    def apply(self, change: Change) -> None:
        """Count a change."""
        self._count(change, change.sign)

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        self._count(change, -change.sign)

    def _count(self, change: Change, sign: int) -> None:
        amounts = change.each
        for task in change.tasks:
            claim = claim_of(task)
            account = self.tree.accounts.get(self._quota_of(claim))
            if account is not None:
                account.use(amounts, is_preemptible=claim.is_preemptible, sign=sign)
