"""Status: figures of each quota, and faults of those that are out of service."""

from pyroclast.framework.session.session import Session
from pyroclast.model.elastic import ParsedQuota
from pyroclast.model.elastic.tree import APART, QuotaBook
from pyroclast.model.report import EventNote, QuotaFigures
from pyroclast.model.resources import MILLI, Amounts
from pyroclast.plugins.elastic_quota.accounts import Accounts

__all__ = ["report"]


def report(session: Session, accounts: Accounts) -> None:
    """Note the figures of quotas, and record an event about each new fault."""
    for name, quota in session.snapshot.elastic_quotas.items():
        fault, book = accounts.faults.get(name), accounts.tree.books.get(name)
        if fault is not None:
            _record_fault(session, quota, fault)
        elif book is not None:
            session.report.note_quota(_figures(session, quota, book))


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


def _figures(session: Session, quota: ParsedQuota, book: QuotaBook) -> QuotaFigures:
    space = session.resources

    def limited(amounts: list[int]) -> Amounts:
        return {
            space.names[row]: amounts[row] * MILLI // space.scales[row]
            for row in book.rows
            if space.names[row] in quota.maximum
        }

    return QuotaFigures(
        namespace=quota.namespace,
        name=quota.name,
        uid=quota.object.metadata.uid,
        used=limited(book.used),
        runtime=limited(book.runtime),
        request=limited(book.request),
        child_request=limited(book.child_request),
        guaranteed=limited(book.guaranteed),
        non_preemptible_request=limited(book.unpreemptible_request),
        non_preemptible_used=limited(book.unpreemptible_used),
    )
