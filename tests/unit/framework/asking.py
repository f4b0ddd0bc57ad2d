"""Plugins with the answers that a test needs, and their sessions."""

from collections.abc import Callable, Mapping
from typing import Any

from pyroclast import Plugin, Session, SessionJob, Task, contract
from pyroclast.testing import Scenario, open_session

Function = Callable[..., Any]


class Saying(Plugin):
    """A plugin that registers the given functions; options of a registration go beside the function in a tuple."""

    def __init__(
        self, name: str, said: Mapping[contract.Point[Any], Function | tuple[Function, Mapping[str, Any]]]
    ) -> None:
        self.name = name
        self._said = said

    def on_session_open(self, session: Session) -> None:
        """Register."""
        for point, each in self._said.items():
            function, options = each if isinstance(each, tuple) else (each, {})
            session.extensions.register(point, self.name, function, **options)


def session_of(scenario: Scenario, *tiers: tuple[Any, ...], **options: Any) -> Session:
    """Open a session with tiers of plugins."""
    return open_session(scenario, plugins=tiers, **options)


def job_of(session: Session, name: str = "a") -> SessionJob:
    """Return a job of the namespace `default`."""
    job = session.jobs.get(f"default/{name}")  # type: ignore[arg-type]  # an id as text
    assert job is not None
    return job


def tasks_of(session: Session, name: str = "a") -> list[Task]:
    """Return a job's tasks by name."""
    return sorted(job_of(session, name).tasks.values(), key=lambda task: task.name)


def always(answer: Any) -> Function:
    """Return a function that gives one answer."""
    return lambda *_: answer


def failing(*_: Any) -> Any:
    """Raise, as a broken plugin does."""
    raise RuntimeError("broken")
