"""The configuration file, watched: what it says now, and the last of it that was good.

A mounted ConfigMap is a chain of symbolic links that the kubelet swaps, so times and inodes say little: each poll reads
the file, which is small, and compares digests. The files of plugins that it is read with count as a part of it.

    nothing read yet ──good──▶ in force ──good, other──▶ in force (generation + 1)
            │                    │  ▲
            └───────bad──────────▶  bad, told once; what was in force stays ──good──▶ in force (recovered)
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from pyroclast.framework.configuration import Parsed
from pyroclast.framework.configuration.notes import UnusableError
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.file_errors import why

__all__ = ["ConfigFile", "Reload"]

MAX_BYTES: Final = 2**20
"""A ConfigMap holds no more; a larger file is a mistake."""

Read: TypeAlias = Callable[[str, int], Parsed]
"""Makes a configuration of a text and a generation; raises ConfigError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reload:
    """The file, or what it is read with, is another than at the last poll."""

    parsed: Parsed | None
    """In force from now on; None when the file is bad and what was in force stays."""
    faults: tuple[str, ...] = ()
    """Why the file is bad, each a sentence that starts with its path."""
    warnings: tuple[str, ...] = ()
    """What its author should hear, of a bad file too."""
    recovered: bool = False
    """Whether the file was bad before and is good now."""


class ConfigFile:
    """A configuration file and the last good configuration in it."""

    def __init__(self, path: Path, read: Read, *, beside: Callable[[], str] = lambda: "") -> None:
        """Watch a file; it need not be there.

        Args:
            path: The file.
            read: Makes a configuration of its text.
            beside: Returns a digest of what else it is made of: where that changes, the same text is read anew.
        """
        self._path, self._read, self._beside = path, read, beside
        self._current: Parsed | None = None
        self._faults: tuple[str, ...] = ()
        self._seen = self._good = ""

    @property
    def current(self) -> Parsed | None:
        """What is in force; None while there never was a good one."""
        return self._current

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with the file as last polled; empty when nothing is."""
        return self._faults

    def poll(self) -> Reload | None:
        """Return what has changed since the last poll, or None: a fault, too, is told once."""
        try:
            text = _content(self._path)
        except ConfigError as error:
            seen = f"unreadable: {error}"
            return self._refuse(seen, error) if seen != self._seen else None
        seen = f"{hashlib.sha256(text.encode()).hexdigest()} {self._beside()}"
        if seen == self._seen:
            return None
        if self._current is not None and seen == self._good:
            return self._accept(seen, self._current)
        try:
            parsed = self._read(text, self._next_generation())
        except ConfigError as error:
            return self._refuse(seen, error)
        return self._accept(seen, parsed)

    def _next_generation(self) -> int:
        return 1 if self._current is None else self._current.configuration.generation + 1

    def _refuse(self, seen: str, error: ConfigError) -> Reload:
        self._seen, self._faults = seen, error.faults
        warnings = error.warnings if isinstance(error, UnusableError) else ()
        return Reload(parsed=None, faults=error.faults, warnings=warnings)

    def _accept(self, seen: str, parsed: Parsed) -> Reload:
        reload = Reload(parsed=parsed, warnings=parsed.warnings, recovered=bool(self._faults))
        self._seen = self._good = seen
        self._faults, self._current = (), parsed
        return reload


def _content(path: Path) -> str:
    """Return the text of the file; raises ConfigError when there is none to be had."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {why(error)}") from None
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_BYTES} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: {why(error)}") from None
