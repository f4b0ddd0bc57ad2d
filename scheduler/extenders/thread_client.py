"""Waiting: the cycle's thread sends requests through the event loop of another thread.

    open ──stop──▶ stopped: waiting calls are interrupted, and so are all later calls

An interruption ends the cycle (`CycleCut`): the process is about to end, and a decision needs all replies.
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

__all__ = ["OnExchange", "Waiting", "answer_of"]

_GRACE_SECONDS: Final = 10.0
"""Extra time beyond a request's timeout, in case the loop's thread is busy or gone."""

OnExchange = Callable[[str, str, bool, float], None]
"""Called after each request: plugin instance, verb, whether there was a reply, seconds."""


class Waiting:
    """Sends the requests of all plugins of a process."""

    def __init__(
        self,
        client: ExtenderClient,
        loop: asyncio.AbstractEventLoop,
        on_exchange: OnExchange = lambda *_: None,
        *,
        budget_seconds: float = 0.0,
    ) -> None:
        """Use a client of this loop.

        Args:
            client: Sends the requests.
            loop: Its loop.
            on_exchange: Called in the thread that sends the request.
            budget_seconds: Time of all requests of a plugin in a cycle, unless its entry has another; 0 for no limit.
        """
        self._client, self._loop, self._on_exchange, self._budget = client, loop, on_exchange, budget_seconds
        self._lock = threading.Lock()
        self._under_way: Future[bytes] | None = None
        self._is_stopped = False

    def outside(self, configuration: Configuration) -> dict[str, Outside]:
        """Return the `Outside` of each plugin of a configuration."""
        return {
            option.instance: _One(
                self, option.instance, self._budget if option.time_budget is None else option.time_budget
            )
            for option in configuration.deciding.plugins
        }

    def stop(self) -> None:
        """Interrupt the waiting call, and all later calls."""
        with self._lock:
            self._is_stopped = True
            under_way = self._under_way
        if under_way is not None:
            under_way.cancel()

    def ask(self, instance: str, question: Question) -> Answer:
        """Send a request and wait for the reply, in the cycle's thread.

        Raises:
            CycleCut: The process is about to end.
        """
        begun = time.monotonic()
        answer = self._wait(question)
        self._on_exchange(instance, question.url.rpartition("/")[2], not answer.error, time.monotonic() - begun)
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
    """The `Outside` of one plugin in one cycle."""

    def __init__(self, waiting: Waiting, instance: str, budget_seconds: float) -> None:
        self._waiting, self._instance, self._budget = waiting, instance, budget_seconds
        self._spent = 0.0

    def ask(self, question: Question) -> Answer:
        """Send a request and wait for the reply. Once the time budget is used up no request is sent."""
        if self._budget and self._spent > self._budget:
            return Answer(error=f": its time budget of {self._budget:g} s for a cycle is used up")
        begun = time.monotonic()
        try:
            return self._waiting.ask(self._instance, question)
        finally:
            self._spent += time.monotonic() - begun


def answer_of(question: Question, content: bytes) -> Answer:
    """Parse the body of a reply."""
    if not question.wants_answer:
        return Answer()
    try:
        return Answer(value=msgspec.json.decode(content), size=len(content))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Answer(error=f": an answer that is no JSON: {error}")
