"""Debug flags: what the daemon logs beyond its usual lines, changed at run time by PUT requests.

================  ======================  =============================================================
path              start flag              value
================  ======================  =============================================================
/debug/flags/v    --v                     verbosity; 4 and more logs debug lines
/debug/flags/s    --debug-scores          number of nodes in the table of scores of each placed pod; 0: off
/debug/flags/f    --debug-filters         `true`: log which rule refuses which node for each waiting pod
/debug/flags/d    --debug-diagnosis       `true`: log all reasons of each waiting pod and of its job
================  ======================  =============================================================

GET returns the value, PUT sets it from the body. A value of another form is answered with 400.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from pyroclast.scheduler.cli.options import MOST_SCORES
from pyroclast.scheduler.monitoring.health import Look

__all__ = ["DebugFlags", "flag_handlers"]

_MOST_VERBOSITY: Final = 10
_LONGEST_BODY: Final = 64
_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}


@dataclass(slots=True)
class DebugFlags:
    """The flags, as they are now."""

    scores: int = 0
    """Number of nodes in the table of scores of each placed pod; 0 for no table."""
    filters: bool = False
    """Whether the refusals of nodes are logged for each waiting pod."""
    diagnosis: bool = False
    """Whether all reasons of each waiting pod and of its job are logged."""

    @property
    def is_any_on(self) -> bool:
        """Whether something is logged for them."""
        return bool(self.scores or self.filters or self.diagnosis)


def flag_handlers(
    flags: DebugFlags, *, verbosity: Callable[[], int], set_verbosity: Callable[[int], None]
) -> tuple[dict[str, Look], dict[str, Look]]:
    """Return the handlers of GET and of PUT requests, by path.

    Args:
        flags: The flags to read and set.
        verbosity: Returns the verbosity.
        set_verbosity: Sets it.
    """

    def set_scores(text: str) -> None:
        flags.scores = _whole(text, MOST_SCORES)

    def set_filters(text: str) -> None:
        flags.filters = _boolean(text)

    def set_diagnosis(text: str) -> None:
        flags.diagnosis = _boolean(text)

    values: dict[str, tuple[Callable[[], str], Callable[[str], None]]] = {
        "v": (lambda: str(verbosity()), lambda text: set_verbosity(_whole(text, _MOST_VERBOSITY))),
        "s": (lambda: str(flags.scores), set_scores),
        "f": (lambda: str(flags.filters).lower(), set_filters),
        "d": (lambda: str(flags.diagnosis).lower(), set_diagnosis),
    }
    handlers = {f"/debug/flags/{name}": _handlers(name, *each) for name, each in values.items()}
    return {path: each[0] for path, each in handlers.items()}, {path: each[1] for path, each in handlers.items()}


def _boolean(text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise ValueError(f"got {text!r}, expected true or false")
    return _BOOLEANS[text.lower()]


def _whole(text: str, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not 0 <= int(text) <= most:
        raise ValueError(f"got {text!r}, expected a whole number from 0 to {most}")
    return int(text)


def _handlers(name: str, read: Callable[[], str], write: Callable[[str], None]) -> tuple[Look, Look]:

    async def show(_: web.Request) -> web.Response:
        return web.Response(text=f"{read()}\n")

    async def change(request: web.Request) -> web.Response:
        body = await request.content.read(_LONGEST_BODY + 1)
        if len(body) > _LONGEST_BODY:
            return web.Response(status=400, text=f"/debug/flags/{name}: expected at most {_LONGEST_BODY} bytes\n")
        try:
            write(body.decode().strip())
        except ValueError as error:
            return web.Response(status=400, text=f"/debug/flags/{name}: {error}\n")
        return web.Response(text=f"{read()}\n")

    return show, change
