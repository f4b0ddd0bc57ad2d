"""Priority classes: what the name of one is worth to a job."""

from collections.abc import Iterable

from pyroclast.model import wire

__all__ = ["PriorityClasses"]


class PriorityClasses:
    """All priority classes."""

    def __init__(self) -> None:
        """Start without classes."""
        self._classes: dict[str, wire.PriorityClass] = {}
        self._default = 0

    def set(self, priority_class: wire.PriorityClass) -> bool:
        """Take a class over; False when nothing that counts changed."""
        known = self._classes.get(priority_class.metadata.name)
        self._classes[priority_class.metadata.name] = priority_class
        self._find_default()
        return known is None or (known.value, known.global_default) != (
            priority_class.value,
            priority_class.global_default,
        )

    def remove(self, name: str) -> bool:
        """Forget a class; False when it is not known."""
        known = self._classes.pop(name, None)
        self._find_default()
        return known is not None

    def value_of(self, name: str) -> int:
        """Return the priority of a job that names a class: its value, else that of the default class, else 0."""
        known = self._classes.get(name)
        return self._default if known is None else known.value

    def lacks(self, name: str) -> bool:
        """Tell whether a name is that of no class; never where no class is known at all: then they are not followed."""
        return bool(name and self._classes) and name not in self._classes

    def all(self) -> Iterable[wire.PriorityClass]:
        """Return all classes."""
        return self._classes.values()

    def copy(self) -> "PriorityClasses":
        """Return the same classes, to change on their own."""
        copied = PriorityClasses()
        copied._classes, copied._default = dict(self._classes), self._default
        return copied

    def _find_default(self) -> None:
        # Of several global defaults the lowest value counts, as in Kubernetes' admission.
        values = (each.value for each in self._classes.values() if each.global_default)
        self._default = min(values, default=0)
