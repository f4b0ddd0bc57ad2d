"""The configuration file: polls it, and keeps the last valid configuration.

A mounted ConfigMap is a chain of symbolic links that the kubelet swaps, so times and inodes do not help. Each poll
reads the file, which is small, and compares digests. The digest includes the plugin files.

    nothing read yet ──good──▶ in force ──good, other──▶ in force (generation + 1)
            │                    │  ▲
            └───────bad──────────▶  bad, reported once; the last good one stays ──good──▶ in force (recovered)
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
"""Size limit of a ConfigMap. A larger file is a mistake."""

Read: TypeAlias = Callable[[str, int], Parsed]
"""Parses a text as the configuration of a generation; raises ConfigError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reload:
    """The file or the plugin files have changed since the last poll."""

    parsed: Parsed | None
    """The new configuration; None if the file is invalid and the last valid configuration remains in force."""
    faults: tuple[str, ...] = ()
    """The faults of the file. Each is a sentence that starts with its path."""
    warnings: tuple[str, ...] = ()
    """Warnings about the file, also if it is invalid."""
    recovered: bool = False
    """Whether the file was invalid before and is valid now."""


class ConfigFile:
    """A configuration file and its last valid configuration."""

    def __init__(self, path: Path, read: Read, *, beside: Callable[[], str] = lambda: "") -> None:
        """Watch a file; it may be missing.

        Args:
            path: The file.
            read: Parses its text.
            beside: Returns a digest of other inputs. When it changes, the same text is parsed again.
        """
        self._path, self._read, self._beside = path, read, beside
        self._current: Parsed | None = None
        self._faults: tuple[str, ...] = ()
        self._seen = self._good = ""

    @property
    def current(self) -> Parsed | None:
        """The configuration in force; None before the first valid one."""
        return self._current

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of the file at the last poll."""
        return self._faults

    def poll(self) -> Reload | None:
        """Return the change since the last poll, or None. A fault is also returned only once."""
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
    """Return the text of the file; raise ConfigError if it cannot be read."""
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
