"""Requests to the extender: from a verb and a body to a reply, or to one error type for all failures."""

from collections.abc import Collection
from typing import Any, Final, TypeVar

import msgspec

from pyroclast.framework.extension.outside import Outside, Question
from pyroclast.framework.session.session import Session
from pyroclast.model.texts import said_by, shortened
from pyroclast.plugins.extender.arguments import ExtenderArgs

__all__ = ["Asking", "ExtenderError"]

Reply = TypeVar("Reply")

_SHOWN: Final = 200
"""Maximum number of characters of names in a message."""

_PATIENCE: Final = 3
"""Failures in a row after which an extender is not called again in the same cycle: each may cost a whole timeout."""


class ExtenderError(Exception):
    """An extender gave no usable reply."""


class Asking:
    """Calls one extender in one session.

        calling ──3 failures in a row──▶ given up for this cycle: every further call fails like the last one

    If the extender is ignorable, a failure is noted and a default replaces the reply. Otherwise the failure is raised,
    and the framework turns it into a refusal that names the plugin.
    """

    def __init__(self, session: Session, instance: str, args: ExtenderArgs, outside: Outside) -> None:
        self._session, self._instance, self._args, self._outside = session, instance, args, outside
        self._failures = 0
        self._last = ""

    def ask(self, verb: str, body: dict[str, Any], reply: type[Reply], otherwise: Reply) -> Reply:
        """Call a verb and return the reply, or `otherwise` if there is none and the extender is ignorable.

        Raises:
            ExtenderError: There is no reply, and the extender is not ignorable.
        """
        try:
            return self._reply(verb, body, reply)
        except ExtenderError as error:
            if not self._args.ignorable:
                raise
            self._session.extensions.note_failure(self._instance, error)
            return otherwise

    def notify(self, verb: str, body: Any) -> str:
        """Call a verb without a reply. Return the failure, which is also noted; empty on success."""
        try:
            self._answer(verb, body, wants_answer=False)
            self._failures = 0
        except ExtenderError as error:
            self._session.extensions.note_failure(self._instance, error)
            return str(error)
        return ""

    def complain(self, verb: str, what: str, names: Collection[str]) -> None:
        """Note that a reply names objects that the request did not contain; they are ignored."""
        if names:
            self._session.extensions.note_failure(
                self._instance, ExtenderError(f"{verb} names {what}: {', '.join(sorted(names))[:_SHOWN]}")
            )

    def _reply(self, verb: str, body: Any, reply: type[Reply]) -> Reply:
        value = self._answer(verb, body)
        try:
            answer = msgspec.convert(value, reply)
        except msgspec.ValidationError as error:
            raise self._failed(f"{self._where(verb)}: an answer of the wrong shape: {said_by(error)}") from None
        self._failures = 0
        return answer

    def _answer(self, verb: str, body: Any, *, wants_answer: bool = True) -> Any:
        if self._failures >= _PATIENCE:
            raise ExtenderError(self._last)
        answer = self._outside.ask(
            Question(
                url=self._args.url(verb),
                body=msgspec.json.encode(body, enc_hook=dict),
                timeout_seconds=self._args.timeout_seconds,
                wants_answer=wants_answer,
            )
        )
        if answer.error:
            raise self._failed(f"{self._where(verb)}{shortened(answer.error)}")
        return answer.value

    def _where(self, verb: str) -> str:
        return f"failed {verb} with extender at URL {self._args.url(verb)}"

    def _failed(self, message: str) -> ExtenderError:
        self._failures += 1
        self._last = message
        return ExtenderError(message)
