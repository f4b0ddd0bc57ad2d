"""Notes: the faults and warnings of a configuration, collected while it is read and reported together."""

import reprlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyroclast.framework.configuration.suggest import did_you_mean_inside
from pyroclast.model.errors import ConfigError

__all__ = ["Notes", "UnusableError", "below"]


class UnusableError(ConfigError):
    """A configuration cannot be used. Carries the warnings beside the faults."""

    def __init__(self, *faults: str, warnings: Iterable[str] = ()) -> None:
        """Take every fault and every warning, each a sentence that starts with its path."""
        super().__init__(*faults)
        self.warnings = tuple(warnings)


def below(path: str, key: str) -> str:
    """Return the path of a key inside `path`; the top of the file is the empty path."""
    shown = key if key.isprintable() else repr(key)
    return f"{path}.{shown}" if path else shown


@dataclass(slots=True)
class Notes:
    """Faults and warnings found so far."""

    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """Those of the warnings that name plugins which do not exist."""

    def fault(self, path: str, message: str) -> None:
        """Take down what makes the configuration unusable."""
        self.faults.append(f"{path}: {message}")

    def warn(self, path: str, message: str) -> None:
        """Take down what has no effect or is probably not meant."""
        self.warnings.append(f"{path}: {message}")

    def skip(self, path: str, message: str) -> None:
        """Take down a plugin that does not exist."""
        self.warn(path, message)
        self.skipped.append(self.warnings[-1])

    def mapping(self, path: str, value: object) -> Mapping[str, Any]:
        """Return a mapping; null is an empty one; anything else is a fault."""
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    self.fault(path, f"the key {key!r} is no text")
            return {key: item for key, item in value.items() if isinstance(key, str)}
        if value is not None:
            self.fault(path, f"got {reprlib.repr(value)}, expected a mapping")
        return {}

    def sequence(self, path: str, value: object) -> Collection[Any]:
        """Return a list; null is an empty one; anything else is a fault."""
        if isinstance(value, (list, tuple)):
            return value
        if value is not None:
            self.fault(path, f"got {reprlib.repr(value)}, expected a list")
        return ()

    def name(self, path: str, value: object) -> str:
        """Return a name; an empty one or anything else is a fault."""
        if isinstance(value, str) and value.strip():
            return value.strip()
        self.fault(path, f"got {reprlib.repr(value)}, expected a name" if value is not None else "missing")
        return ""

    def unknown_keys(self, path: str, value: Mapping[str, Any], known: Collection[str]) -> None:
        """Warn of each key that no field reads."""
        for key, item in value.items():
            if key not in known:
                self.warn(below(path, key), f"unknown key, it has no effect{did_you_mean_inside(key, item, known)}")

    def raise_faults(self, *, strict: bool) -> None:
        """Raise all faults at once, when strict the warnings too."""
        found = [*self.faults, *(self.warnings if strict else ())]
        if found:
            raise UnusableError(*found, warnings=() if strict else self.warnings)
