"""Structured logs: one event per line with its fields, as JSON or for a console, on standard error."""

import logging
import sys
from collections.abc import Mapping, MutableMapping
from enum import Enum
from io import StringIO
from itertools import islice
from numbers import Number
from pathlib import PurePath
from typing import Any, Final, Literal, TextIO

import structlog

from pyroclast.model.secrets import SecretText

__all__ = ["Level", "bounded", "start_logging"]

Format = Literal["json", "console"]

_SHARED: Final = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


_LONGEST_TEXT: Final = 4096
"""Maximum number of characters in a field."""
_MOST_ITEMS: Final = 64
"""Maximum number of items of a list or mapping in a field."""
_MOST_LEVELS: Final = 8
"""Maximum depth of lists and mappings in a field."""
_MOST_FRAMES: Final = 16
"""Maximum number of frames in a traceback; the outermost and the innermost ones are kept."""

_LONGEST_TRACEBACK: Final = 16_384
"""Maximum number of characters of a traceback on a console."""

_TRACEBACKS: Final = structlog.processors.ExceptionRenderer(
    # Local variables contain passwords, pods and whole clusters.
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False, max_frames=_MOST_FRAMES)
)


def bounded(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Truncate the fields of a line: texts, lists, mappings and their depth."""
    for name, value in event.items():
        if name != "exc_info":
            event[name] = _cut(value, _MOST_LEVELS)
    return event


def _cut(value: Any, levels: int) -> Any:
    match value:
        case str():
            return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]}… ({len(value)} characters)"
        case None | bool() | int() | float():
            return value
        case _ if not levels:
            return "…"
        case Mapping():
            return {str(key): _cut(item, levels - 1) for key, item in islice(value.items(), _MOST_ITEMS)}
        case list() | tuple() | set() | frozenset():
            return [_cut(item, levels - 1) for item in islice(value, _MOST_ITEMS)]
        case BaseException() | PurePath() | Enum() | Number() | SecretText():
            return _cut(str(value), levels)
        case _:
            return f"<{type(value).__name__}>"  # its text could contain a whole cluster


def _print_traceback(stream: TextIO, exc_info: Any) -> None:
    """Print a traceback without local variables, which structlog's default would print."""
    text = StringIO()
    structlog.dev.plain_traceback(text, exc_info)
    shown = text.getvalue()
    if len(shown) > _LONGEST_TRACEBACK:
        half = _LONGEST_TRACEBACK // 2
        shown = f"{shown[:half]}\n… ({len(shown)} characters)\n{shown[-half:]}"
    stream.write(shown)


class Level:
    """The level below which lines are dropped. It can be changed while the process runs."""

    def __init__(self, level: int) -> None:
        """Start at `level`, a number of the standard library's logging."""
        self.level = level

    def __call__(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:  # noqa: ARG002 - a processor's signature
        """Drop an event that is below the level."""
        if logging.getLevelNamesMapping().get(method.upper(), logging.ERROR) < self.level:
            raise structlog.DropEvent
        return event

    def move(self, level: int) -> None:
        """Change the level, for our lines and for those of libraries."""
        self.level = level
        logging.getLogger().setLevel(level)


def start_logging(form: Format, *, debug: bool = False, stream: TextIO = sys.stderr) -> Level:
    """Set up logging for the process.

    Args:
        form: `json` for programs, `console` for a terminal.
        debug: Whether debug lines are logged.
        stream: Receives the lines.

    Returns:
        The level, which can be changed later.
    """
    level = Level(logging.DEBUG if debug else logging.INFO)
    renderer: Any
    if form == "json":
        renderer = [_TRACEBACKS, bounded, structlog.processors.JSONRenderer(sort_keys=False)]
    else:
        console = structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=_print_traceback)
        renderer = [bounded, console]
    structlog.configure(
        processors=[level, *_SHARED, *renderer],
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    _join_standard_library(renderer, level.level, stream)
    return level


def _join_standard_library(renderer: list[Any], level: int, stream: TextIO) -> None:
    """Format the lines of libraries as our own."""
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
    # The API server already logs each request.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
