"""Priority classes: the values of the priority classes of the cluster."""

from collections.abc import Iterable

from pyroclast.model import wire

__all__ = ["PriorityClasses"]


class PriorityClasses:
    """Priority classes by name."""

    def __init__(self) -> None:
        """Start without classes."""
        self._classes: dict[str, wire.PriorityClass] = {}
        self._default = 0

    def set(self, priority_class: wire.PriorityClass) -> bool:
        """Add or replace a class, and return whether its value or its default mark changed."""
        known = self._classes.get(priority_class.metadata.name)
        self._classes[priority_class.metadata.name] = priority_class
        self._find_default()
        return known is None or (known.value, known.global_default) != (
            priority_class.value,
            priority_class.global_default,
        )

    def remove(self, name: str) -> bool:
        """Remove a class, and return whether it was known."""
        known = self._classes.pop(name, None)
        self._find_default()
        return known is not None

    def value_of(self, name: str) -> int:
        """Return the priority of a job that names a class: its value, or that of the default class, or 0."""
        known = self._classes.get(name)
        return self._default if known is None else known.value

    def lacks(self, name: str) -> bool:
        """Return whether a class is missing. Without any class the result is False: classes are then not watched."""
        return bool(name and self._classes) and name not in self._classes

    def all(self) -> Iterable[wire.PriorityClass]:
        """Return all classes."""
        return self._classes.values()

    def copy(self) -> "PriorityClasses":
        """Return an independent copy."""
        copied = PriorityClasses()
        copied._classes, copied._default = dict(self._classes), self._default
        return copied

    def _find_default(self) -> None:
        # The lowest value of several global defaults counts, as in the admission of Kubernetes.
        values = (each.value for each in self._classes.values() if each.global_default)
        self._default = min(values, default=0)
