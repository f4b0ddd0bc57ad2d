"""Store: the objects of a kind as its reflector last received them, by name and by indexes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from pyroclast.kube.reflector import HasMetadata

__all__ = ["Index", "Key", "Store", "key_of"]

T = TypeVar("T", bound=HasMetadata)
U = TypeVar("U", bound=HasMetadata)

Key = tuple[str, str]
"""Namespace (empty for cluster-scoped kinds) and name."""

Index = Callable[[U], Iterable[str]]
"""Function that returns the index values of an object."""


def key_of(item: HasMetadata) -> Key:
    """Return an object's namespace and name."""
    return item.metadata.namespace, item.metadata.name


class Store(Generic[T]):
    """A handler of a reflector. All results are in the order of namespace and name.

    Invariant: each index holds exactly the objects of the store, each under the values that its function gives.
    """

    def __init__(
        self,
        indexes: Mapping[str, Index[T]] | None = None,
        *,
        plural: str = "",
        version: Callable[[], str] = lambda: "",
    ) -> None:
        """Start empty.

        Args:
            indexes: Index functions by the name that `by` takes.
            plural: Plural name of the objects, for messages.
            version: Returns the resource version that the reflector has reached.
        """
        self.plural, self.version = plural, version
        self._objects: dict[Key, T] = {}
        self._order: list[Key] | None = []
        self._functions: dict[str, Index[T]] = {}
        self._found: dict[str, dict[str, dict[Key, T]]] = {}
        for name, function in (indexes or {}).items():
            self.add_index(name, function)

    def __len__(self) -> int:
        return len(self._objects)

    def add_index(self, name: str, function: Index[T]) -> None:
        """Add an index.

        Raises:
            ValueError: The index exists with another function.
        """
        if self._functions.setdefault(name, function) is not function:
            raise ValueError(f"the index {name!r} is served by another function already")
        self._found[name] = {}
        for key, item in self._objects.items():
            self._enter(name, key, item)

    def get(self, namespace: str, name: str) -> T | None:
        """Return an object, or None if it does not exist."""
        return self._objects.get((namespace, name))

    def values(self) -> Sequence[T]:
        """Return all objects."""
        if self._order is None:
            self._order = sorted(self._objects)
        return [self._objects[key] for key in self._order]

    def by(self, index: str, value: str) -> Sequence[T]:
        """Return the objects with an index value."""
        found = self._found[index].get(value, {})
        return [found[key] for key in sorted(found)]

    def count(self, index: str, value: str) -> int:
        """Return the number of objects with an index value, in constant time."""
        return len(self._found[index].get(value, ()))

    def added(self, new: T) -> None:
        """Add an object."""
        key = key_of(new)
        self._objects[key] = new
        self._order = None
        for name in self._functions:
            self._enter(name, key, new)

    def updated(self, old: T, new: T) -> None:
        """Update an object."""
        key = key_of(new)
        self._objects[key] = new
        for name in self._functions:
            self._leave(name, key, old)
            self._enter(name, key, new)

    def deleted(self, old: T) -> None:
        """Remove an object."""
        key = key_of(old)
        self._objects.pop(key, None)
        self._order = None
        for name in self._functions:
            self._leave(name, key, old)

    def _enter(self, name: str, key: Key, item: T) -> None:
        for value in self._functions[name](item):
            self._found[name].setdefault(value, {})[key] = item

    def _leave(self, name: str, key: Key, item: T) -> None:
        found = self._found[name]
        for value in self._functions[name](item):
            held = found.get(value, {})
            held.pop(key, None)
            if not held:
                found.pop(value, None)
