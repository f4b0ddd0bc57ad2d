"""Changes recorded for ledgers that are built lazily."""

from typing import Any

from pyroclast.framework.session.pending_changes import PendingChanges


def test_changes_are_recorded_until_the_ledger_is_built() -> None:
    """Afterwards the ledger counts them itself."""
    first: Any = object()
    pending = PendingChanges()

    assert pending.record(first, 1)
    assert pending.build() == [(first, 1)]
    assert not pending.record(first, -1)
    assert pending.build() == []


def test_change_that_is_undone_at_once_is_forgotten() -> None:
    """Undoing in reverse order leaves nothing behind; anything else is kept in order."""
    first: Any = object()
    second: Any = object()
    pending = PendingChanges()
    for change, sign in ((first, 1), (second, 1), (second, -1), (first, -1), (first, 1), (second, -1), (first, -1)):
        assert pending.record(change, sign)

    assert pending.build() == [(first, 1), (second, -1), (first, -1)]
