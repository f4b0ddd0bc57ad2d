"""Wrong answers on purpose: what a test can make the server do.

A fault names the requests it meets (verb, resource, name, subresource), how often, and what happens: a delay, an
error, a bind refused before or after it took place, a watch line cut in the middle. The chance is seeded, so a
run can be repeated. A test in the server's process holds the `Faults`; others POST the same words as JSON to
`/emulator/faults`, where GET shows what is armed and DELETE disarms all.
"""

import asyncio
import fnmatch
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyroclast.emulator.statuses import ApiError, bad_request

__all__ = ["Fault", "Faults"]

EFFECTS = ("error", "lost", "cut", "drop", "hold", "half")
REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@dataclass(slots=True, kw_only=True)
class Fault:
    """One armed fault. Counts down with each use; at zero it is spent."""

    effect: str = "error"
    """Effect on a request that matches.

    `error`: refused, nothing is done. `lost`: it is done, then the connection is cut without an answer.
    `cut`: the connection is cut, nothing is done. `hold`: only the delay. To a watch: `drop` leaves an event
    out, `half` sends half of an event's line and cuts the connection."""
    verb: str = "*"
    resource: str = "*"
    """Plural name, as a shell pattern."""
    name: str = "*"
    namespace: str = "*"
    subresource: str = "*"
    """`binding` meets binds; the empty text meets the object itself."""
    user_agent: str = "*"
    code: int = 500
    message: str = "injected by the test"
    retry_after: int = 0
    delay_seconds: float = 0.0
    count: int = -1
    """Uses left; negative means without end."""
    skip: int = 0
    """Requests let through before the first use."""
    chance: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what nothing would ever match."""
        if self.effect not in EFFECTS:
            raise ValueError(f"effect must be one of {', '.join(EFFECTS)}, not {self.effect!r}")

    def meets(self, words: Mapping[str, str]) -> bool:
        """Whether a request is one of those meant."""
        return all(
            (pattern := getattr(self, word)) == "*" or fnmatch.fnmatchcase(value, pattern)
            for word, value in words.items()
        )

    def error(self) -> ApiError:
        """The refusal."""
        return ApiError(self.code, REASONS.get(self.code, "InternalError"), self.message, retry_after=self.retry_after)


@dataclass(slots=True)
class Faults:
    """All armed faults of one server."""

    seed: int = 0
    armed: list[Fault] = field(default_factory=list)
    used: int = 0
    """Number of uses of all faults."""
    _random: random.Random = field(init=False)
    _awake: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        """Start awake, with the seed's first number ahead."""
        self._random = random.Random(self.seed)
        self._awake.set()

    def add(self, **words: Any) -> Fault:
        """Arm a fault, in the words of `Fault`."""
        fault = Fault(**words)
        self.armed.append(fault)
        return fault

    def clear(self) -> None:
        """Disarm all and wake up."""
        self.armed.clear()
        self.resume()

    def pause(self) -> None:
        """Be away: requests are held, watches say nothing, until `resume`."""
        self._awake.clear()

    def resume(self) -> None:
        """Answer again."""
        self._awake.set()

    @property
    def paused(self) -> bool:
        """Whether the server is away."""
        return not self._awake.is_set()

    async def awake(self) -> None:
        """Wait until the server is not away."""
        await self._awake.wait()

    def take(self, effects: tuple[str, ...], words: Mapping[str, str]) -> Fault | None:
        """Use the first armed fault of these effects that meets a request."""
        for fault in self.armed:
            if fault.effect not in effects or fault.count == 0 or not fault.meets(words):
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            if fault.chance < 1.0 and self._random.random() >= fault.chance:
                continue
            fault.count -= fault.count > 0
            self.used += 1
            return fault
        return None

    def command(self, words: Any) -> None:
        """Do what a POST to `/emulator/faults` says: a fault, a list of them, or `{"pause": true}`.

        Raises:
            ApiError: 400 for words that mean nothing.
        """
        for one in words if isinstance(words, list) else [words]:
            if not isinstance(one, dict):
                raise bad_request("a fault is an object")
            if "pause" in one:
                self.pause() if one["pause"] else self.resume()
            elif "seed" in one:
                self._random = random.Random(one["seed"])
            else:
                try:
                    self.add(**one)
                except (TypeError, ValueError) as error:
                    raise bad_request(str(error)) from error

    def describe(self) -> dict[str, Any]:
        """Return the armed faults, for GET."""
        names = Fault.__dataclass_fields__
        faults = [{name: getattr(fault, name) for name in names} for fault in self.armed]
        return {"paused": self.paused, "used": self.used, "armed": faults}
