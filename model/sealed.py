"""Sealed containers: read-only lists, mappings and sets.

Reading costs as much as for the plain types. They compare, copy and encode as the plain types. Methods that change
raise `TypeError`. Only the owner changes one, through the plain type: `list.append(session.plans, plan)`.
"""

from typing import Any, NoReturn, TypeVar

__all__ = ["SealedDict", "SealedList", "SealedSet", "sealed"]

K = TypeVar("K")
V = TypeVar("V")


def _refuse(self: object, *_: Any, **__: Any) -> NoReturn:
    kind = type(self).__mro__[1].__name__
    raise TypeError(f"this {kind} is read-only; make one of your own: {kind}(it)")


class SealedDict(dict[K, V]):
    """A mapping that only its owner changes."""

    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> Any:
        """Copy it, and pickle it, by its contents."""
        return type(self), (dict(self),)


class SealedList(list[V]):
    """A list that only its owner changes."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> Any:
        """Likewise."""
        return type(self), (list(self),)


class SealedSet(set[V]):
    """A set that only its owner changes."""

    __slots__ = ()

    __iand__ = __ior__ = __isub__ = __ixor__ = _refuse
    add = clear = difference_update = discard = intersection_update = pop = remove = _refuse
    symmetric_difference_update = update = _refuse

    def __reduce__(self) -> Any:
        """Likewise."""
        return type(self), (set(self),)


def sealed(value: Any) -> Any:
    """Return plain lists and mappings, and those inside them, as sealed ones; anything else as it is."""
    if isinstance(value, (SealedDict, SealedList)):
        return value
    if isinstance(value, dict):
        return SealedDict((key, sealed(each)) for key, each in value.items())
    if isinstance(value, list):
        return SealedList(map(sealed, value))
    return value
