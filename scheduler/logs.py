"""Structured logs: one event a line with its fields, as JSON or for a console, on standard error."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, Final, Literal, TextIO

import structlog

__all__ = ["Level", "start_logging"]

Format = Literal["json", "console"]

_SHARED: Final = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)

_TRACEBACKS: Final = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
)
"""Without local variables: they would hold whole objects, and what is secret in them."""


class Level:
    """The level below which lines are dropped; may be moved while the process runs."""

    def __init__(self, level: int) -> None:
        """Start at `level`, a number of the standard library's logging."""
        self.level = level

    def __call__(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:  # noqa: ARG002 - a processor's signature
        """Drop an event that is below the level."""
        if logging.getLevelNamesMapping().get(method.upper(), logging.ERROR) < self.level:
            raise structlog.DropEvent
        return event

    def move(self, level: int) -> None:
        """Change the level, of our lines and of libraries' alike."""
        self.level = level
        logging.getLogger().setLevel(level)


def start_logging(form: Format, *, debug: bool = False, stream: TextIO = sys.stderr) -> Level:
    """Set up logging for the process.

    Args:
        form: `json` for machines, `console` for people.
        debug: Whether debug lines are logged.
        stream: Where lines go.

    Returns:
        The level, to be moved later.
    """
    level = Level(logging.DEBUG if debug else logging.INFO)
    renderer: Any
    if form == "json":
        renderer = [_TRACEBACKS, structlog.processors.JSONRenderer(sort_keys=False)]
    else:
        plain = structlog.dev.plain_traceback
        renderer = [structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=plain)]
    structlog.configure(
        processors=[level, *_SHARED, *renderer],
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    _join_standard_library(renderer, level.level, stream)
    return level


def _join_standard_library(renderer: list[Any], level: int, stream: TextIO) -> None:
    """Let lines of libraries look like ours."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*_SHARED],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # One line a request is the API server's business.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
