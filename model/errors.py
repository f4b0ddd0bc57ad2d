"""Errors, one tree, each with its remedy.

PyroclastError
├── ConfigError      fix a file: every fault at once, with its path
│   └── ArgumentError    one argument of a plugin or action is out of range
├── ObjectError      fix an object of the cluster; the rest of the cluster is served meanwhile
├── CacheError       list again
├── ConflictError    read again, then retry
└── LateRegistrationError    register in on_session_open; `framework.extension.registration`
"""

__all__ = ["ArgumentError", "CacheError", "ConfigError", "ConflictError", "ObjectError", "PyroclastError"]


class PyroclastError(Exception):
    """Anything this project raises on purpose."""


class ConfigError(PyroclastError):
    """A configuration cannot be used; remedy: fix the file."""

    def __init__(self, *faults: str) -> None:
        """Take every fault found, each a sentence that starts with its path."""
        super().__init__("; ".join(faults))
        self.faults = faults


class ArgumentError(ConfigError):
    """An argument is outside what it may be; remedy: fix that argument."""

    def __init__(self, path: str, got: object, expected: str) -> None:
        """Set the path of the argument, its value, and the expected value."""
        super().__init__(f"{path}: got {got!r}, expected {expected}")
        self.path, self.got, self.expected = path, got, expected


class ObjectError(PyroclastError):
    """An object of the cluster is broken; remedy: fix the object, nothing else waits for it."""

    def __init__(self, kind: str, name: str, path: str, message: str) -> None:
        """Set the object (`namespace/name`), the path of the field, and the message."""
        super().__init__(f"{kind} {name}: {path}: {message}")
        self.kind, self.name, self.path, self.message = kind, name, path, message


class CacheError(PyroclastError):
    """The picture of the cluster is out of step; remedy: list again."""


class ConflictError(PyroclastError):
    """Another client changed the object; remedy: read again, then retry."""
