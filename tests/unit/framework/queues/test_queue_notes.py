"""Notes on queues: reported once, and again when the text changes."""

from pyroclast.framework.session.memory import Settled


def test_a_change_is_reported_once() -> None:
    """The same text about the same thing is no news."""
    settled = Settled()

    assert [settled.is_news("q", text) for text in ("a", "a", "b", "a")] == [True, False, True, True]
    assert settled.is_news("other", "a")
