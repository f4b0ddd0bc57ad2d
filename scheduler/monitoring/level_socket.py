"""A Unix socket that changes the log verbosity for a while, at the path that Volcano's tools use.

GET /getlevel returns the verbosity. GET /setlevel?level=4&duration=30s sets it, and resets it after that time.
"""

import asyncio
import logging
from pathlib import Path
from typing import Final

import structlog
from aiohttp import web

from pyroclast.model.durations import parse_duration
from pyroclast.scheduler.cli.process_options import DEBUG_VERBOSITY
from pyroclast.scheduler.monitoring.logs import Level

__all__ = ["LevelSocket"]

_NAME: Final = "klog-klog.sock"
_log = structlog.get_logger(__name__)


class LevelSocket:
    """Serves the socket between `start` and `stop`. An unusable folder disables only the socket."""

    def __init__(self, folder: str, level: Level, *, verbosity: int) -> None:
        """Serve in `folder`. `verbosity` is restored after a temporary change."""
        self.path = Path(folder) / _NAME
        self._level, self._first, self._now = level, verbosity, verbosity
        self._runner: web.AppRunner | None = None
        self._back: asyncio.TimerHandle | None = None

    @property
    def verbosity(self) -> int:
        """The verbosity of this moment."""
        return self._now

    def set_verbosity(self, verbosity: int) -> None:
        """Change the verbosity until it is changed again."""
        self._first = verbosity
        if self._back is not None:
            self._back.cancel()
        self._move(verbosity)

    async def start(self) -> None:
        """Open the socket. Only this user may connect."""
        application = web.Application()
        application.router.add_get("/getlevel", self._get)
        application.router.add_get("/setlevel", self._set)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.unlink(missing_ok=True)
            await web.UnixSite(runner, str(self.path)).start()
            self.path.chmod(0o700)
        except OSError as error:
            _log.warning("level_socket_not_served", path=str(self.path), error=str(error))
            await runner.cleanup()
            return
        self._runner = runner

    async def stop(self) -> None:
        """Close the socket and remove it."""
        if self._back is not None:
            self._back.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
            self.path.unlink(missing_ok=True)

    async def _get(self, _: web.Request) -> web.Response:
        return web.Response(text=f"{self._now}\n")

    async def _set(self, request: web.Request) -> web.Response:
        level = request.query.get("level", "")
        if not level.isdecimal() or int(level) < 1:
            return web.Response(status=400, text=f"level: got {level!r}, expected a number above 0\n")
        duration = request.query.get("duration", "")
        try:
            seconds = float(parse_duration(duration))
        except ValueError as fault:
            return web.Response(status=400, text=f"duration: got {duration!r}, expected {fault}\n")
        self._move(int(level))
        if self._back is not None:
            self._back.cancel()
        self._back = asyncio.get_running_loop().call_later(max(seconds, 0.0), self._move, self._first)
        return web.Response(text=f"{level} for {duration}\n")

    def _move(self, verbosity: int) -> None:
        self._now = verbosity
        self._level.move(logging.DEBUG if verbosity >= DEBUG_VERBOSITY else logging.INFO)
        _log.info("verbosity_changed", verbosity=verbosity)
