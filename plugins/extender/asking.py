"""Asking: from a verb and a body to a reply, or to the one error that stands for every way of getting none."""

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
"""Characters of names that are told."""

_PATIENCE: Final = 3
"""Failures in a row after which an extender is not asked again in the same cycle: each may cost its whole timeout."""


class ExtenderError(Exception):
    """An extender gave no answer that can be used."""


class Asking:
    """Asks one extender in one session.

        asked ──failed 3 times in a row──▶ given up for this cycle: every further question fails as the last one did

    Where the extender may be ignored a failure is noted and answered by what stands in its stead; else it is raised,
    and the framework makes a refusal of it that names the plugin.
    """

    def __init__(self, session: Session, instance: str, args: ExtenderArgs, outside: Outside) -> None:
        self._session, self._instance, self._args, self._outside = session, instance, args, outside
        self._failures = 0
        self._last = ""

    def ask(self, verb: str, body: dict[str, Any], reply: type[Reply], otherwise: Reply) -> Reply:
        """Ask, and return the reply; `otherwise` where there is none and the extender may be ignored.

        Raises:
            ExtenderError: There is no reply, and the extender may not be ignored.
        """
        try:
            return self._reply(verb, body, reply)
        except ExtenderError as error:
            if not self._args.ignorable:
                raise
            self._session.extensions.note_failure(self._instance, error)
            return otherwise

    def notify(self, verb: str, body: Any) -> str:
        """Tell something, and return why it was not heard, which is noted; empty where it was."""
        try:
            self._answer(verb, body, wants_answer=False)
            self._failures = 0
        except ExtenderError as error:
            self._session.extensions.note_failure(self._instance, error)
            return str(error)
        return ""

    def complain(self, verb: str, what: str, names: Collection[str]) -> None:
        """Note that an answer names what nobody asked about; it counts for nothing."""
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
