"""Changes kept for ledgers that are built lazily."""

from typing import Any

from pyroclast.framework.session.pending_changes import EarlyChanges


def test_changes_are_kept_until_the_ledger_is_built() -> None:
    """Afterwards the ledger counts them itself."""
    first: Any = object()
    early = EarlyChanges()

    assert early.keep(first, 1)
    assert early.build() == [(first, 1)]
    assert not early.keep(first, -1)
    assert early.build() == []


def test_change_that_is_undone_at_once_is_forgotten() -> None:
    """Undoing in reverse order leaves nothing behind; anything else is kept in order."""
    first: Any = object()
    second: Any = object()
    early = EarlyChanges()
    for change, sign in ((first, 1), (second, 1), (second, -1), (first, -1), (first, 1), (second, -1), (first, -1)):
        assert early.keep(change, sign)

    assert early.build() == [(first, 1), (second, -1), (first, -1)]
