"""Waiting: the cycle's thread asks, the loop's thread speaks.

    open ──stop──▶ stopped: whoever waits is let go, and so is whoever asks from then on

Letting go ends the cycle (`CycleCut`): the process is about to end, and a decision on half of the answers is none.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Final

import msgspec

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.extension.outside import Answer, CycleCut, Outside, Question
from pyroclast.scheduler.extenders.client import ExtenderClient, NoReplyError

__all__ = ["Told", "Waiting", "answer_of"]

_GRACE_SECONDS: Final = 10.0
"""Beyond the timeout of a question, which the loop's thread keeps: for the case that it is busy, or gone."""

Told = Callable[[str, str, bool, float], None]
"""Hears of each exchange: plugin instance, verb, whether there was an answer, seconds."""


class Waiting:
    """Who answers all plugins of a process."""

    def __init__(self, client: ExtenderClient, loop: asyncio.AbstractEventLoop, told: Told = lambda *_: None) -> None:
        """Ask through a client of this loop; `told` is called in the thread that asks."""
        self._client, self._loop, self._told = client, loop, told
        self._lock = threading.Lock()
        self._under_way: Future[bytes] | None = None
        self._is_stopped = False

    def outside(self, configuration: Configuration) -> dict[str, Outside]:
        """Return who answers each plugin of a configuration."""
        return {option.instance: _One(self, option.instance) for option in configuration.profiles[0].plugins}

    def stop(self) -> None:
        """Let go whoever waits, now and from now on."""
        with self._lock:
            self._is_stopped = True
            under_way = self._under_way
        if under_way is not None:
            under_way.cancel()

    def ask(self, instance: str, question: Question) -> Answer:
        """Ask, and wait for the answer; in the cycle's thread.

        Raises:
            CycleCut: The process is about to end.
        """
        begun = time.monotonic()
        answer = self._wait(question)
        self._told(instance, question.url.rpartition("/")[2], not answer.error, time.monotonic() - begun)
        return answer

    def _wait(self, question: Question) -> Answer:
        with self._lock:
            if self._is_stopped:
                raise CycleCut
            self._under_way = asyncio.run_coroutine_threadsafe(self._client.post(question), self._loop)
        try:
            return answer_of(question, self._under_way.result(question.timeout_seconds + _GRACE_SECONDS))
        except CancelledError:
            raise CycleCut from None
        except TimeoutError:
            self._under_way.cancel()
            return Answer(error=f": no answer within {question.timeout_seconds:g} s")
        except NoReplyError as error:
            return Answer(error=str(error))
        finally:
            self._under_way = None


class _One:
    """Who answers one plugin."""

    def __init__(self, waiting: Waiting, instance: str) -> None:
        self._waiting, self._instance = waiting, instance

    def ask(self, question: Question) -> Answer:
        """Ask, and wait."""
        return self._waiting.ask(self._instance, question)


def answer_of(question: Question, content: bytes) -> Answer:
    """Read the body of an answer."""
    if not question.wants_answer:
        return Answer()
    try:
        return Answer(value=msgspec.json.decode(content), size=len(content))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Answer(error=f": an answer that is no JSON: {error}")
