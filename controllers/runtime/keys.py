"""Keys: the two common mappings from changes to keys: the object itself, and its controller."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pyroclast.controllers.runtime.store import Index, Key, key_of
from pyroclast.kube.api.resources import Resource
from pyroclast.kube.reflector import HasMetadata

__all__ = ["controller_index", "keys_of_controller", "own_key"]

T = TypeVar("T", bound=HasMetadata)


def own_key(old: T | None, new: T | None) -> Iterable[Key]:
    """Return the key of the object itself."""
    return [key_of(each) for each in (new or old,) if each is not None]


def keys_of_controller(resource: Resource[Any]) -> Callable[[T | None, T | None], Iterable[Key]]:
    """Return the keys of a watch: the current and the previous controller of an object, if they are of a kind."""

    def keys(old: T | None, new: T | None) -> Iterable[Key]:
        found: dict[Key, None] = {}
        for item in (old, new):
            owner = item.metadata.controller if item is not None else None
            if item is not None and owner is not None and _is_of(owner, resource):
                found[item.metadata.namespace, owner.name] = None
        return list(found)

    return keys


def controller_index(resource: Resource[Any]) -> Index[T]:
    """Return an index of objects by the UID of their controller, if it is of a kind."""

    def uids(item: T) -> Iterable[str]:
        owner = item.metadata.controller
        return (owner.uid,) if owner is not None and _is_of(owner, resource) else ()

    return uids


def _is_of(owner: Any, resource: Resource[Any]) -> bool:
    """Return whether a reference is to a kind. Kinds of other groups may have the same name."""
    return bool(owner.kind == resource.kind and owner.api_version == resource.api_version)
