"""Status: figures of each quota, and faults of those that are out of service."""

from collections.abc import Callable, Mapping

from pyroclast.framework.session.session import Session
from pyroclast.model.elastic import ParsedQuota
from pyroclast.model.elastic.names import ROOT_QUOTA
from pyroclast.model.elastic.quota import LARGEST_AMOUNT
from pyroclast.model.elastic.tree import APART, BUILT_IN, QuotaAccount
from pyroclast.model.report import EventNote, QuotaFigures
from pyroclast.model.resources import MILLI, PODS, Amounts
from pyroclast.plugins.elastic_quota.accounts import Accounts

__all__ = ["report"]


def report(
    session: Session, accounts: Accounts, annotations: Callable[[str], Mapping[str, str]] = lambda _: {}
) -> None:
    """Note the figures of quotas, and record an event about each new fault; hook plugins add `annotations` by quota."""
    for name, quota in session.snapshot.elastic_quotas.items():
        fault = accounts.faults.get(name)
        account = accounts.tree.root if name == ROOT_QUOTA else accounts.tree.accounts.get(name)
        if fault is not None:
            _record_fault(session, quota, fault)
        elif account is not None:
            session.report.note_quota(
                _figures(session, quota, account, annotations(name), guarantees_use=accounts.guarantees_use)
            )


def _record_fault(session: Session, quota: ParsedQuota, fault: str) -> None:
    metadata = quota.object.metadata
    message = f"counts as absent: {fault}" if quota.name in APART else f"out of service: {fault}"
    if session.report.is_news(f"ElasticQuota/{metadata.key}/{metadata.uid}", message):
        session.report.record_events(
            EventNote(
                kind="ElasticQuota",
                namespace=metadata.namespace,
                name=metadata.name,
                uid=metadata.uid,
                type="Warning",
                reason="QuotaBroken",
                message=message,
            )
        )


def _figures(
    session: Session, quota: ParsedQuota, account: QuotaAccount, annotations: Mapping[str, str], *, guarantees_use: bool
) -> QuotaFigures:
    space = session.resources

    def limited(amounts: list[int]) -> Amounts:
        """Return the amounts of resources of the maximum; for built-in quotas of those that are limited and in use."""
        return {
            space.names[row]: amounts[row] * MILLI // space.scales[row]
            for row in account.rows
            if space.names[row] in quota.maximum
            or (quota.name in BUILT_IN and 0 < amounts[row] < LARGEST_AMOUNT and space.names[row] != PODS)
        }

    return QuotaFigures(
        namespace=quota.namespace,
        name=quota.name,
        uid=quota.object.metadata.uid,
        used=limited(account.used),
        runtime=limited(account.runtime),
        request=limited(account.request),
        child_request=limited(account.child_request),
        guaranteed=limited(account.guaranteed),
        allocated=limited(account.allocated) if guarantees_use else {},
        non_preemptible_request=limited(account.unpreemptible_request),
        non_preemptible_used=limited(account.unpreemptible_used),
        annotations=annotations,
    )
